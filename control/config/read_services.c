/* SPDX-License-Identifier: BSD-3-Clause */
/* The section about what is protected: services. */
#include "control/config/address_text.h"
#include "control/config/limits.h"
#include "control/config/settings_reader.h"

#define ADDRESSES_MAX       1024 /* of one service */
#define PORTS_MAX           1024
#define REFUSE_RATE_DEFAULT 100000u

static void read_service_name(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_service *service = target;

    if (read_name(r, setting, service->name))
        places_of(r)->service_names[service->id] = node_of(setting);
}

static void read_addresses(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char range[] = "one IPv4 or IPv6 address each";
    struct policy_service *service = target;
    int n = read_elements(r, setting, true, 1, ADDRESSES_MAX);

    if (n > 0)
        service->addresses = reader_alloc(r, (size_t)n, sizeof(*service->addresses));
    for (int i = 0; i < n && service->addresses; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
        const char *text = read_string(r, element, range);
        char quoted[LIMITS_QUOTED_MAX];

        if (!text)
            continue;
        if (address_parse(text, &service->addresses[service->n_addresses]))
            service->n_addresses++;
        else
            refuse(r, element, range, "%s is no address", limits_quote(text, quoted));
    }
}

static void read_protocol(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"tcp", "udp", NULL};
    struct policy_service *service = target;
    int i;

    if (read_word(r, setting, words, &i))
        service->protocol = i ? PROTOCOL_UDP : PROTOCOL_TCP;
}

/* One to five digits, 1..65535; returns what follows, or NULL. */
static const char *parse_port(const char *text, uint16_t *port)
{
    uint32_t value = 0;
    int digits = 0;

    for (; *text >= '0' && *text <= '9' && digits < 6; text++, digits++)
        value = value * 10 + (uint32_t)(*text - '0');
    if (digits < 1 || digits > 5 || value < 1 || value > UINT16_MAX)
        return NULL;
    *port = (uint16_t)value;
    return text;
}

static bool parse_ports(const char *text, struct policy_ports *ports)
{
    const char *rest = parse_port(text, &ports->first);

    ports->last = ports->first;
    if (rest && *rest == '-')
        rest = parse_port(rest + 1, &ports->last);
    return rest && !*rest && ports->first <= ports->last;
}

static bool read_port(struct reader *r, const config_setting_t *setting, struct policy_ports *ports)
{
    char quoted[LIMITS_QUOTED_MAX];
    const char *text;
    int64_t value;

    if (node_of(setting)->kind == SCAN_INTEGER) {
        if (!read_integer(r, setting, 1, UINT16_MAX, &value))
            return false;
        ports->first = ports->last = (uint16_t)value;
        return true;
    }
    text = read_string(r, setting, "1..65535 or FIRST-LAST");
    if (!text)
        return false;
    if (parse_ports(text, ports))
        return true;
    refuse(r, setting, "1..65535 or FIRST-LAST", "%s is no port", limits_quote(text, quoted));
    return false;
}

static void read_ports(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_service *service = target;
    int n = read_elements(r, setting, true, 1, PORTS_MAX);

    places_of(r)->service_ports[service->id] = node_of(setting);
    if (n > 0)
        service->ports = reader_alloc(r, (size_t)n, sizeof(*service->ports));
    for (int i = 0; i < n && service->ports; i++)
        if (read_port(r, config_setting_get_elem(setting, (unsigned)i),
                      &service->ports[service->n_ports]))
            service->n_ports++;
}

/* Resolved by the checks, when every tenant is known. */
static void note_tenant(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_service *service = target;

    if (read_string(r, setting, "the name of a tenant"))
        places_of(r)->service_tenants[service->id] = setting;
}

/* What depends on the protocol waits until the group is read. */
static void leave(struct reader *r, const config_setting_t *setting, void *target)
{
    (void)r;
    (void)setting;
    (void)target;
}

static void read_service_window(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_service *service = target;

    places_of(r)->service_windows[service->id] = setting;
    read_count(r, setting, "slots", &service->window);
}

static void read_connections(struct reader *r, const config_setting_t *setting, void *target)
{
    read_count(r, setting, "connections", &((struct policy_service *)target)->connections);
}

static void read_capacity(struct reader *r, const config_setting_t *setting, void *target)
{
    read_limited_rate(r, setting, limits_capacity, &((struct policy_service *)target)->capacity);
}

static void read_deadline(struct reader *r, const config_setting_t *setting, void *target)
{
    const char *text = read_string(r, setting, "such as 1s, or \"none\"");
    struct policy_service *service = target;
    struct config_refusal no;

    if (text && !limits_deadline(text, &service->deadline_ns, &no))
        refuse(r, setting, no.range, "%s", no.why);
}

static void read_turn(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"rst", "http", "pass", NULL};
    struct policy_service *service = target;
    int i;

    if (read_word(r, setting, words, &i))
        service->turn = (enum policy_turn[]){TURN_RST, TURN_HTTP, TURN_PASS}[i];
}

static void read_silence(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct duration_limits limits = {1000000, 60000000000, 1, "1ms..1min"};

    read_duration(r, setting, &limits, &((struct policy_service *)target)->silence_ns);
}

static void read_service_standby(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char *const words[] = {"open", "closed", NULL};
    int i;

    if (read_word(r, setting, words, &i))
        ((struct policy_service *)target)->closed_in_standby = i == 1;
}

static void read_refuse_rate(struct reader *r, const config_setting_t *setting, void *target)
{
    struct quota_rate *rate = &((struct policy_service *)target)->refuse_rate;

    if (read_rate(r, setting, rate))
        rate->burst = rate->amount ? limits_default_burst(rate, 1) : 0;
}

static void settle_unit(struct reader *r, const config_setting_t *setting,
                        struct policy_service *service)
{
    static const char *const words[] = {"connection", "exchange", "datagram", NULL};
    static const enum policy_unit units[] = {UNIT_CONNECTION, UNIT_EXCHANGE, UNIT_DATAGRAM};
    bool tcp = service->protocol == PROTOCOL_TCP;
    int i;

    service->unit = tcp ? UNIT_CONNECTION : UNIT_DATAGRAM;
    if (!setting || !read_word(r, setting, words, &i))
        return;
    if ((units[i] == UNIT_DATAGRAM) == tcp)
        refuse(r, setting, tcp ? "connection or exchange" : "datagram",
               "\"%s\" is not available for %s", words[i], tcp ? "tcp" : "udp");
    else
        service->unit = units[i];
}

static void settle_refuse(struct reader *r, const config_setting_t *setting,
                          struct policy_service *service)
{
    static const char *const words[] = {"drop", "rst", NULL};
    bool tcp = service->protocol == PROTOCOL_TCP;
    int i;

    service->refusal = tcp ? REFUSAL_RST : REFUSAL_DROP;
    if (!setting || !read_word(r, setting, words, &i))
        return;
    if (i && !tcp)
        refuse(r, setting, "drop", "\"rst\" is not available for udp");
    else
        service->refusal = i ? REFUSAL_RST : REFUSAL_DROP;
}

static void read_service(struct reader *r, const config_setting_t *group,
                         struct policy_service *service)
{
    static const struct key keys[] = {
        {"name", read_service_name, true},
        {"addresses", read_addresses, true},
        {"protocol", read_protocol, true},
        {"ports", read_ports, true},
        {"tenant", note_tenant, false},
        {"unit", leave, false},
        {"window", read_service_window, false},
        {"connections", read_connections, false},
        {"capacity", read_capacity, false},
        {"deadline", read_deadline, false},
        {"wait", read_wait, false},
        {"reserve", read_reserve, false},
        {"shares", read_shares, false},
        {"shed", read_shed, false},
        {"breaker", read_breaker, false},
        {"probes", read_probes, false},
        {"turn", read_turn, false},
        {"silence", read_silence, false},
        {"slo", read_slo, false},
        {"refuse", leave, false},
        {"refuse_rate", read_refuse_rate, false},
        {"standby", read_service_standby, false},
    };

    READ_GROUP(r, group, keys, service);
    if (!service->protocol)
        return;
    settle_unit(r, service_member(group, "unit", NULL), service);
    settle_refuse(r, service_member(group, "refuse", NULL), service);
    settle_overload(group, service);
    check_service(r, group, service);
}

void read_services(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_spec *spec = &settings_of(r)->policy;
    struct places *places = places_of(r);
    int n = read_elements(r, setting, false, 0, POLICY_SERVICES_MAX);

    (void)target;
    if (n < 0)
        return;
    spec->services = reader_alloc(r, (size_t)n, sizeof(*spec->services));
    places->service_names = reader_alloc(r, (size_t)n, sizeof(*places->service_names));
    places->service_ports = reader_alloc(r, (size_t)n, sizeof(*places->service_ports));
    places->service_tenants = reader_alloc(r, (size_t)n, sizeof(*places->service_tenants));
    places->service_shares = reader_alloc(r, (size_t)n, sizeof(*places->service_shares));
    places->service_windows = reader_alloc(r, (size_t)n, sizeof(*places->service_windows));
    if (r->out_of_memory)
        return;
    places->services = node_of(setting);
    for (int i = 0; i < n; i++) {
        struct policy_service *service = &spec->services[i];

        *service = policy_service_unlimited();
        service->protocol = (enum policy_protocol)0; /* until it is read */
        service->id = (uint32_t)i;
        service->refuse_rate = (struct quota_rate){.amount = REFUSE_RATE_DEFAULT, .period_s = 1};
        service->refuse_rate.burst = limits_default_burst(&service->refuse_rate, 1);
        read_service(r, config_setting_get_elem(setting, (unsigned)i), service);
        spec->n_services++;
    }
}
