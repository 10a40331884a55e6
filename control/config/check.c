/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/config/address_text.h"
#include "control/config/limits.h"
#include "control/config/settings_reader.h"

static const char *path_of(struct reader *r, const struct scan_node *node, char path[SCAN_PATH_MAX])
{
    return scan_path(r->scan, node, path);
}

/* Names of one kind of thing, with the place of each. */
struct named {
    const char *name;
    const struct scan_node *node;
};

static int by_name(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    return order ? order : left->node < right->node ? -1 : left->node > right->node;
}

/* `names` holds room for n; sorts it. */
static void check_names(struct reader *r, struct named *names, uint32_t n)
{
    char path[SCAN_PATH_MAX], other[SCAN_PATH_MAX];

    if (n)
        qsort(names, n, sizeof(*names), by_name);
    for (uint32_t i = 1; i < n; i++) {
        const struct named *first = &names[i - 1];

        if (!strcmp(first->name, names[i].name))
            report_error(r->report, names[i].node->line, path_of(r, names[i].node, path),
                         "\"%s\" is taken by %s in line %u", names[i].name,
                         path_of(r, first->node, other), first->node->line);
    }
}

static void check_tenant_names(struct reader *r)
{
    const struct policy_spec *spec = &settings_of(r)->policy;
    struct named *names = reader_alloc(r, spec->n_tenants, sizeof(*names));
    uint32_t n = 0;

    for (uint32_t i = 0; names && i < spec->n_tenants; i++)
        if (places_of(r)->tenant_names[i])
            names[n++] = (struct named){spec->tenants[i].name, places_of(r)->tenant_names[i]};
    check_names(r, names, n);
}

static void check_service_names(struct reader *r)
{
    const struct policy_spec *spec = &settings_of(r)->policy;
    struct named *names = reader_alloc(r, spec->n_services, sizeof(*names));
    uint32_t n = 0;

    for (uint32_t i = 0; names && i < spec->n_services; i++)
        if (places_of(r)->service_names[i])
            names[n++] = (struct named){spec->services[i].name, places_of(r)->service_names[i]};
    check_names(r, names, n);
}

static void check_gate_names(struct reader *r)
{
    const struct dataplane_settings *dataplane = &settings_of(r)->dataplane;
    struct named names[DATAPLANE_GATES_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i < dataplane->n_gates; i++)
        if (*dataplane->gates[i].name)
            names[n++] = (struct named){dataplane->gates[i].name, places_of(r)->gates[i]};
    check_names(r, names, n);
}

static uint32_t find_tenant(const struct policy_spec *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->n_tenants; i++)
        if (!strcmp(spec->tenants[i].name, name))
            return i;
    return POLICY_NONE;
}

static void check_default_tenant(struct reader *r)
{
    struct policy_spec *spec = &settings_of(r)->policy;
    const struct scan_node *tenants = places_of(r)->tenants;
    char path[SCAN_PATH_MAX];

    if (!tenants)
        return; /* reported already */
    spec->default_tenant = find_tenant(spec, "default");
    if (spec->default_tenant == POLICY_NONE)
        report_error(r->report, tenants->line, path_of(r, tenants, path),
                     "no tenant is named \"default\" (it is mandatory)");
}

static void check_service_tenants(struct reader *r)
{
    struct policy_spec *spec = &settings_of(r)->policy;

    for (uint32_t i = 0; i < spec->n_services; i++) {
        const config_setting_t *setting = places_of(r)->service_tenants[i];
        char quoted[LIMITS_QUOTED_MAX];

        if (!setting || !places_of(r)->tenants)
            continue;
        spec->services[i].tenant = find_tenant(spec, config_setting_get_string(setting));
        if (spec->services[i].tenant == POLICY_NONE)
            refuse(r, setting, "", "no tenant is named %s",
                   limits_quote(config_setting_get_string(setting), quoted));
    }
}

/* Element i of the setting is shares[i]. */
static void check_shares_of(struct reader *r, const config_setting_t *setting,
                            struct policy_service *service)
{
    const struct policy_spec *spec = &settings_of(r)->policy;
    char quoted[LIMITS_QUOTED_MAX];

    for (uint32_t i = 0; i < service->n_shares; i++) {
        const config_setting_t *group = config_setting_get_elem(setting, i);
        const config_setting_t *name = service_member(group, "tenant", NULL);
        const char *text = name ? config_setting_get_string(name) : NULL;
        uint32_t tenant = text ? find_tenant(spec, text) : POLICY_NONE;

        if (text && tenant == POLICY_NONE)
            refuse(r, name, "", "no tenant is named %s", limits_quote(text, quoted));
        for (uint32_t j = 0; j < i && tenant != POLICY_NONE; j++)
            if (service->shares[j].tenant == tenant)
                refuse(r, name, "", "%s has a share already, [%u]", limits_quote(text, quoted), j);
        service->shares[i].tenant = tenant;
    }
}

static void check_shares(struct reader *r)
{
    struct policy_spec *spec = &settings_of(r)->policy;

    for (uint32_t i = 0; i < spec->n_services && places_of(r)->tenants; i++)
        if (places_of(r)->service_shares[i])
            check_shares_of(r, places_of(r)->service_shares[i], &spec->services[i]);
}

/* Room for twice what the file asks for, so that a service can be given more while it runs. */
static void check_places(struct reader *r)
{
    uint64_t places = limits_waiting_places(&settings_of(r)->policy);
    char path[SCAN_PATH_MAX];

    if (places > DATAPLANE_WAITING_MAX)
        report_error(r->report, places_of(r)->services->line,
                     path_of(r, places_of(r)->services, path),
                     "%" PRIu64 " waiting places in all, at most %u are possible", places,
                     DATAPLANE_WAITING_MAX);
    places *= 2;
    if (places < DATAPLANE_WAITING_MIN)
        places = DATAPLANE_WAITING_MIN;
    if (places > DATAPLANE_WAITING_MAX)
        places = DATAPLANE_WAITING_MAX;
    settings_of(r)->dataplane.waiting_max = (uint32_t)places;
}

/* A device by its name, the part before its arguments: EAL takes each name once. */
struct device {
    const char *text;
    size_t length;
    char where[64];
};

static bool same_device(const struct device *a, const struct device *b)
{
    return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

static void check_port(struct reader *r, uint32_t gate, const char *side,
                       const struct port_settings *port, struct device *seen, uint32_t *n_seen)
{
    for (uint32_t i = 0; i < port->n_devices; i++) {
        struct device *device = &seen[*n_seen];
        char path[SCAN_PATH_MAX];
        uint32_t j = 0;

        device->text = port->devices[i];
        device->length = strcspn(device->text, ",");
        path_of(r, places_of(r)->gates[gate], path);
        snprintf(device->where, sizeof(device->where), "%.32s.%s", path, side);
        while (j < *n_seen && !same_device(device, &seen[j]))
            j++;
        if (j < *n_seen)
            report_error(r->report, places_of(r)->gates[gate]->line, device->where,
                         "device %.*s is in %s already", (int)device->length, device->text,
                         seen[j].where);
        ++*n_seen;
    }
}

static void check_devices(struct reader *r)
{
    const struct dataplane_settings *dataplane = &settings_of(r)->dataplane;
    struct device *seen =
        reader_alloc(r, 2 * (size_t)DATAPLANE_GATES_MAX * DATAPLANE_DEVICES_MAX, sizeof(*seen));
    uint32_t n_seen = 0;

    for (uint32_t i = 0; seen && i < dataplane->n_gates; i++) {
        check_port(r, i, "outside", &dataplane->gates[i].outside, seen, &n_seen);
        check_port(r, i, "inside", &dataplane->gates[i].inside, seen, &n_seen);
    }
}

struct placed_prefix {
    const struct policy_prefix *prefix;
    const struct scan_node *node;
};

static int by_network(const void *a, const void *b)
{
    const struct placed_prefix *left = a, *right = b;
    int order = memcmp(&left->prefix->network, &right->prefix->network, sizeof(struct address));

    if (!order)
        order = left->prefix->bits - right->prefix->bits;
    return order ? order : left->node < right->node ? -1 : left->node > right->node;
}

static void check_prefixes(struct reader *r)
{
    const struct policy_spec *spec = &settings_of(r)->policy;
    struct placed_prefix *sorted = reader_alloc(r, spec->n_prefixes, sizeof(*sorted));
    char path[SCAN_PATH_MAX], other[SCAN_PATH_MAX], text[ADDRESS_TEXT_MAX];

    if (!sorted || !spec->n_prefixes)
        return;
    for (uint32_t i = 0; i < spec->n_prefixes; i++)
        sorted[i] = (struct placed_prefix){&spec->prefixes[i], places_of(r)->prefixes[i]};
    qsort(sorted, spec->n_prefixes, sizeof(*sorted), by_network);
    for (uint32_t i = 1; i < spec->n_prefixes; i++) {
        const struct placed_prefix *first = &sorted[i - 1], *second = &sorted[i];

        if (first->prefix->bits != second->prefix->bits ||
            !address_equal(&first->prefix->network, &second->prefix->network))
            continue;
        report_error(r->report, second->node->line, path_of(r, second->node, path),
                     "%s is %s in line %u already",
                     prefix_format(&second->prefix->network, second->prefix->bits, text),
                     path_of(r, first->node, other), first->node->line);
    }
}

void check_all(struct reader *r)
{
    check_gate_names(r);
    check_devices(r);
    check_xdp(r);
    check_tenant_names(r);
    check_default_tenant(r);
    check_prefixes(r);
    check_service_names(r);
    check_service_tenants(r);
    check_shares(r);
    check_places(r);
    check_overlaps(r);
}
