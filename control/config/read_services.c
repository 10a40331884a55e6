/* SPDX-License-Identifier: BSD-3-Clause */
/* The section about what is protected: services. */
#include "control/config/address_text.h"
#include "control/config/limits.h"
#include "control/config/reader.h"

#define ADDRESSES_MAX       1024 /* of one service */
#define PORTS_MAX           1024
#define REFUSE_RATE_DEFAULT 100000u

/* What depends on the protocol waits until the group is read. */
struct service_draft {
    struct policy_service *service;
    bool has_protocol;
    const config_setting_t *unit, *refuse;
};

static void read_service_name(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_service *service = ((struct service_draft *)target)->service;

    if (read_name(r, setting, service->name))
        r->places.service_names[service->id] = node_of(setting);
}

static void read_addresses(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char range[] = "one IPv4 or IPv6 address each";
    struct policy_service *service = ((struct service_draft *)target)->service;
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
    struct service_draft *draft = target;
    int i;

    if (!read_word(r, setting, words, &i))
        return;
    draft->service->protocol = i ? PROTOCOL_UDP : PROTOCOL_TCP;
    draft->has_protocol = true;
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
    struct policy_service *service = ((struct service_draft *)target)->service;
    int n = read_elements(r, setting, true, 1, PORTS_MAX);

    r->places.service_ports[service->id] = node_of(setting);
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
    struct policy_service *service = ((struct service_draft *)target)->service;

    if (read_string(r, setting, "the name of a tenant"))
        r->places.service_tenants[service->id] = setting;
}

static void note_unit(struct reader *r, const config_setting_t *setting, void *target)
{
    (void)r;
    ((struct service_draft *)target)->unit = setting;
}

static void note_refuse(struct reader *r, const config_setting_t *setting, void *target)
{
    (void)r;
    ((struct service_draft *)target)->refuse = setting;
}

static void read_service_window(struct reader *r, const config_setting_t *setting, void *target)
{
    read_window(r, setting, &((struct service_draft *)target)->service->window);
}

static void read_refuse_rate(struct reader *r, const config_setting_t *setting, void *target)
{
    struct quota_rate *rate = &((struct service_draft *)target)->service->refuse_rate;

    if (read_rate(r, setting, rate))
        rate->burst = rate->amount ? limits_default_burst(rate, 1) : 0;
}

static void settle_unit(struct reader *r, struct service_draft *draft)
{
    static const char *const words[] = {"connection", "exchange", "datagram", NULL};
    static const enum policy_unit units[] = {UNIT_CONNECTION, UNIT_EXCHANGE, UNIT_DATAGRAM};
    struct policy_service *service = draft->service;
    bool tcp = service->protocol == PROTOCOL_TCP;
    int i;

    service->unit = tcp ? UNIT_CONNECTION : UNIT_DATAGRAM;
    if (!draft->unit || !read_word(r, draft->unit, words, &i))
        return;
    if ((units[i] == UNIT_DATAGRAM) == tcp)
        refuse(r, draft->unit, tcp ? "connection or exchange" : "datagram",
               "\"%s\" is not available for %s", words[i], tcp ? "tcp" : "udp");
    else
        service->unit = units[i];
}

static void settle_refuse(struct reader *r, struct service_draft *draft)
{
    static const char *const words[] = {"drop", "rst", NULL};
    struct policy_service *service = draft->service;
    bool tcp = service->protocol == PROTOCOL_TCP;
    int i;

    service->refusal = tcp ? REFUSAL_RST : REFUSAL_DROP;
    if (!draft->refuse || !read_word(r, draft->refuse, words, &i))
        return;
    if (i && !tcp)
        refuse(r, draft->refuse, "drop", "\"rst\" is not available for udp");
    else
        service->refusal = i ? REFUSAL_RST : REFUSAL_DROP;
}

static void read_service(struct reader *r, const config_setting_t *group,
                         struct policy_service *service)
{
    static const struct key keys[] = {
        {"name", read_service_name, true},        {"addresses", read_addresses, true},
        {"protocol", read_protocol, true},        {"ports", read_ports, true},
        {"tenant", note_tenant, false},           {"unit", note_unit, false},
        {"window", read_service_window, false},   {"refuse", note_refuse, false},
        {"refuse_rate", read_refuse_rate, false},
    };
    struct service_draft draft = {.service = service};

    READ_GROUP(r, group, keys, &draft);
    if (!draft.has_protocol)
        return;
    settle_unit(r, &draft);
    settle_refuse(r, &draft);
}

void read_services(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_spec *spec = &r->settings->policy;
    struct places *places = &r->places;
    int n = read_elements(r, setting, false, 0, POLICY_SERVICES_MAX);

    (void)target;
    if (n < 0)
        return;
    spec->services = reader_alloc(r, (size_t)n, sizeof(*spec->services));
    places->service_names = reader_alloc(r, (size_t)n, sizeof(*places->service_names));
    places->service_ports = reader_alloc(r, (size_t)n, sizeof(*places->service_ports));
    places->service_tenants = reader_alloc(r, (size_t)n, sizeof(*places->service_tenants));
    if (r->out_of_memory)
        return;
    places->services = node_of(setting);
    for (int i = 0; i < n; i++) {
        struct policy_service *service = &spec->services[i];

        *service = policy_service_unlimited();
        service->id = (uint32_t)i;
        service->refuse_rate = (struct quota_rate){.amount = REFUSE_RATE_DEFAULT, .period_s = 1};
        service->refuse_rate.burst = limits_default_burst(&service->refuse_rate, 1);
        read_service(r, config_setting_get_elem(setting, (unsigned)i), service);
        spec->n_services++;
    }
}
