/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether options can be together, and what follows for those that were not given. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/load/options.h"
#include "tools/load/protocol.h"

#define NS_PER_S UINT64_C(1000000000)

static int check_kinds(struct load_options *options)
{
    const struct protocol *protocol = options->protocol;

    if (options->n_kinds == 0)
        options->kinds[options->n_kinds++].name = protocol->kind_default;
    else if (!options->scenario &&
             (!protocol->kind_option || strcmp(options->kind_option, protocol->kind_option))) {
        fprintf(stderr, "sluice-load: --%s says nothing to --protocol %s; see --help\n",
                options->kind_option, protocol->name);
        return -EINVAL;
    }
    for (uint32_t i = 0; protocol->kind_option && i < options->n_kinds; i++) {
        if (!protocol->kind_fits(options->kinds[i].name)) {
            fprintf(stderr, "sluice-load: cannot use \"%s\" as --%s; see --help\n",
                    options->kinds[i].name, protocol->kind_option);
            return -EINVAL;
        }
    }
    return 0;
}

/* What is not said of the schedule is 100/s; a closed loop has none. */
static int check_loop(struct load_options *options)
{
    struct schedule_request *schedule = &options->schedule;

    if (options->closed && (schedule->count || schedule->poisson)) {
        fputs("sluice-load: --closed has no schedule: neither --rate nor --poisson\n", stderr);
        return -EINVAL;
    }
    if (options->closed > options->connections) {
        fputs("sluice-load: --closed needs a connection for each client\n", stderr);
        return -EINVAL;
    }
    if (schedule->count == 0) {
        schedule->count = 100;
        schedule->period_ns = NS_PER_S;
    }
    schedule->n_sources = options->sources.n;
    schedule->n_kinds = options->n_kinds;
    return 0;
}

static int check_find(const struct find_options *find)
{
    if (find->period_ns != find->max_period_ns || find->min > find->max) {
        fputs(
            "sluice-load: --min and --max are rates of one unit, the first not above the second\n",
            stderr);
        return -EINVAL;
    }
    return 0;
}

int options_check(struct load_options *options)
{
    if (!options->target_text) {
        fputs("sluice-load: --target is missing; see --help\n", stderr);
        return -EINVAL;
    }
    if (source_parse_target(options->target_text, options->protocol->port, &options->target)) {
        fprintf(stderr, "sluice-load: cannot use \"%s\" as --target; see --help\n",
                options->target_text);
        return -EINVAL;
    }
    if (options->n_sets && !options->scenario_path) {
        fputs("sluice-load: --set is for --scenario\n", stderr);
        return -EINVAL;
    }
    if (options->scenario_path && options_take_scenario(options))
        return -EINVAL;
    if (check_kinds(options) || check_find(&options->find))
        return -EINVAL;
    if (options->keep_alive && options->protocol != &protocol_http) {
        fputs("sluice-load: --keep-alive is for --protocol http\n", stderr);
        return -EINVAL;
    }
    if (options->timeout_ns == 0)
        options->timeout_ns = options->deadline_ns;
    if (!options->scenario && options->timeout_ns < options->deadline_ns) {
        fputs("sluice-load: --timeout must not be shorter than --deadline\n", stderr);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < options->sources.n; i++) {
        if (options->sources.list[i].address.ss_family != options->target.address.ss_family) {
            fputs("sluice-load: sources and target are not of the same address family\n", stderr);
            return -EINVAL;
        }
    }
    for (uint32_t i = 0; !options->scenario && i < options->n_kinds; i++) {
        options->kinds[i].deadline_ns = options->deadline_ns;
        options->kinds[i].timeout_ns = options->timeout_ns;
    }
    return check_loop(options);
}
