/* SPDX-License-Identifier: BSD-3-Clause */
/* The section about who asks: tenants, their prefixes and quotas. */
#include <inttypes.h>
#include <string.h>

#include "control/config/address_text.h"
#include "control/config/limits.h"
#include "control/config/settings_reader.h"
#include "dataplane/policy/prefix.h"

/* Bursts depend on the period of their rate, so they wait until the group is read. */
struct quota_draft {
    struct policy_tenant *tenant;
    const config_setting_t *attempts_burst, *packets_burst, *bits_burst;
};

/* A rate that could not be read is none, so that nothing more is said about its burst. */
static void read_attempts(struct reader *r, const config_setting_t *setting, void *target)
{
    struct quota_rate *rate = &((struct quota_draft *)target)->tenant->attempts;

    rate->unlimited = read_rate(r, setting, rate) && rate->unlimited;
}

static void read_packets(struct reader *r, const config_setting_t *setting, void *target)
{
    struct quota_rate *rate = &((struct quota_draft *)target)->tenant->packets;

    rate->unlimited = read_rate(r, setting, rate) && rate->unlimited;
}

static void read_bits(struct reader *r, const config_setting_t *setting, void *target)
{
    struct quota_rate *rate = &((struct quota_draft *)target)->tenant->bits;

    rate->unlimited = read_bit_rate(r, setting, rate) && rate->unlimited;
}

static void note_attempts_burst(struct reader *r, const config_setting_t *setting, void *target)
{
    (void)r;
    ((struct quota_draft *)target)->attempts_burst = setting;
}

static void note_packets_burst(struct reader *r, const config_setting_t *setting, void *target)
{
    (void)r;
    ((struct quota_draft *)target)->packets_burst = setting;
}

static void note_bits_burst(struct reader *r, const config_setting_t *setting, void *target)
{
    (void)r;
    ((struct quota_draft *)target)->bits_burst = setting;
}

static void settle_burst(struct reader *r, const config_setting_t *setting, uint64_t least,
                         struct quota_rate *rate)
{
    if (rate->amount)
        rate->burst = limits_default_burst(rate, least);
    if (setting && read_burst(r, setting, rate) && rate->unlimited)
        warn(r, setting, "has no effect, for the rate is unlimited");
}

static void settle_burst_bytes(struct reader *r, const config_setting_t *setting,
                               struct quota_rate *rate)
{
    if (rate->amount)
        rate->burst = limits_default_burst_bytes(rate);
    if (!setting || !read_burst_bytes(r, setting, rate))
        return;
    if (rate->unlimited)
        warn(r, setting, "has no effect, for the rate is unlimited");
    else if (rate->amount && rate->burst < LIMITS_FULL_PACKET_BYTES)
        warn(r, setting,
             "IP packets above %" PRIu64 " bytes will always be dropped (a full one has %u)",
             rate->burst, LIMITS_FULL_PACKET_BYTES);
}

static void read_erlangs(struct reader *r, const config_setting_t *setting, void *target)
{
    uint32_t *milli_erlangs = &((struct quota_draft *)target)->tenant->milli_erlangs;

    if (node_of(setting)->kind == SCAN_STRING &&
        !strcmp(config_setting_get_string(setting), "unlimited"))
        *milli_erlangs = POLICY_ERLANGS_UNLIMITED;
    else
        read_decimal(r, setting, &limits_erlangs, milli_erlangs);
}

static void read_quota(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"attempts", read_attempts, false}, {"attempts_burst", note_attempts_burst, false},
        {"packets", read_packets, false},   {"packets_burst", note_packets_burst, false},
        {"bits", read_bits, false},         {"bits_burst", note_bits_burst, false},
        {"erlangs", read_erlangs, false},
    };
    struct policy_tenant *tenant = target;
    struct quota_draft draft = {.tenant = tenant};

    READ_GROUP(r, setting, keys, &draft);
    settle_burst(r, draft.attempts_burst, LIMITS_ATTEMPTS_BURST_MIN, &tenant->attempts);
    settle_burst(r, draft.packets_burst, LIMITS_PACKETS_BURST_MIN, &tenant->packets);
    settle_burst_bytes(r, draft.bits_burst, &tenant->bits);
}

static void read_tenant_name(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_tenant *tenant = target;

    if (read_name(r, setting, tenant->name))
        places_of(r)->tenant_names[tenant->id] = node_of(setting);
}

static void read_prefix(struct reader *r, const config_setting_t *setting, uint32_t tenant)
{
    static const char range[] = "an IPv4 or IPv6 network such as 10.1.0.0/16 or 2001:db8::/32";
    struct policy_spec *spec = &settings_of(r)->policy;
    struct policy_prefix *prefix = &spec->prefixes[spec->n_prefixes];
    const char *text = read_string(r, setting, range);
    char quoted[LIMITS_QUOTED_MAX], masked[ADDRESS_TEXT_MAX];
    struct address network;

    if (!text)
        return;
    if (!prefix_parse(text, &network, &prefix->bits)) {
        refuse(r, setting, range, "%s is no prefix", limits_quote(text, quoted));
        return;
    }
    prefix->network = prefix_mask(&network, prefix->bits);
    prefix->tenant = tenant;
    if (!address_equal(&network, &prefix->network))
        warn(r, setting, "%s has host bits, taken as %s", limits_quote(text, quoted),
             prefix_format(&prefix->network, prefix->bits, masked));
    places_of(r)->prefixes[spec->n_prefixes++] = node_of(setting);
}

static void read_prefixes(struct reader *r, const config_setting_t *setting, void *target)
{
    struct policy_tenant *tenant = target;
    int n = read_elements(r, setting, true, 0, POLICY_PREFIXES_MAX);

    for (int i = 0; i < n; i++)
        read_prefix(r, config_setting_get_elem(setting, (unsigned)i), tenant->id);
}

static void read_class(struct reader *r, const config_setting_t *setting, void *target)
{
    static const char range[] = "bulk, normal or critical";
    const char *text = read_string(r, setting, range);
    struct policy_tenant *tenant = target;
    struct config_refusal no;

    if (text && !limits_class(text, &tenant->class, &no))
        refuse(r, setting, no.range, "%s", no.why);
}

static void read_tenant_window(struct reader *r, const config_setting_t *setting, void *target)
{
    read_count(r, setting, "slots", &((struct policy_tenant *)target)->window);
}

/* Room for every prefix of the file; false when there are too many or there is no memory. */
static bool prepare_tenants(struct reader *r, const config_setting_t *setting, int n)
{
    struct policy_spec *spec = &settings_of(r)->policy;
    size_t n_prefixes = 0;

    for (int i = 0; i < n; i++) {
        const config_setting_t *group = config_setting_get_elem(setting, (unsigned)i);
        const config_setting_t *prefixes = NULL;

        if (node_of(group)->kind == SCAN_GROUP)
            prefixes = config_setting_get_member(group, "prefixes");
        if (prefixes && config_setting_is_aggregate(prefixes))
            n_prefixes += (size_t)config_setting_length(prefixes);
    }
    if (n_prefixes > POLICY_PREFIXES_MAX) {
        refuse(r, setting, "", "%zu prefixes in all, at most %d are possible", n_prefixes,
               POLICY_PREFIXES_MAX);
        return false;
    }
    spec->tenants = reader_alloc(r, (size_t)n, sizeof(*spec->tenants));
    spec->prefixes = reader_alloc(r, n_prefixes, sizeof(*spec->prefixes));
    places_of(r)->tenant_names = reader_alloc(r, (size_t)n, sizeof(*places_of(r)->tenant_names));
    places_of(r)->prefixes = reader_alloc(r, n_prefixes, sizeof(*places_of(r)->prefixes));
    return !r->out_of_memory;
}

void read_tenants(struct reader *r, const config_setting_t *setting, void *target)
{
    static const struct key keys[] = {
        {"name", read_tenant_name, true}, {"prefixes", read_prefixes, false},
        {"class", read_class, false},     {"window", read_tenant_window, false},
        {"quota", read_quota, false},
    };
    struct policy_spec *spec = &settings_of(r)->policy;
    int n = read_elements(r, setting, false, 1, POLICY_TENANTS_MAX);

    (void)target;
    if (n < 0 || !prepare_tenants(r, setting, n))
        return;
    places_of(r)->tenants = node_of(setting);
    for (int i = 0; i < n; i++) {
        struct policy_tenant *tenant = &spec->tenants[i];

        *tenant = policy_tenant_unlimited();
        tenant->id = (uint32_t)i;
        tenant->class = CLASS_NORMAL;
        READ_GROUP(r, config_setting_get_elem(setting, (unsigned)i), keys, tenant);
        spec->n_tenants++;
    }
}
