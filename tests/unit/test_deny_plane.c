/* SPDX-License-Identifier: BSD-3-Clause */
/* How a deny list comes into force, and what is tried again; the data plane takes policies or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/plane/plane.h"
#include "control/plane/xdp.h"
#include "tests/unit/core.h"

#define SECOND 1000000000ull

static int publish_error;
static unsigned published;
static struct policy *in_force;

int dataplane_publish(struct dataplane *dp, struct policy *policy)
{
    (void)dp;
    if (publish_error)
        return publish_error;
    policy_free(in_force);
    in_force = policy;
    published++;
    return 0;
}

/* Follows the data plane, which alone can refuse. */
static const struct policy *told;

void xdp_publish(struct xdp *xdp, const struct policy *policy)
{
    assert_null(xdp);
    told = policy;
}

struct scene {
    struct policy_tenant tenant;
    struct settings settings;
    struct plane plane;
};

static void set_up(struct scene *s, const char *path)
{
    *s = (struct scene){.tenant = core_tenant(0)};
    s->settings.policy = (struct policy_spec){.tenants = &s->tenant, .n_tenants = 1, .epoch = 7};
    s->plane.settings = &s->settings;
    s->plane.denied = deny_open(path, 0, stderr);
    assert_non_null(s->plane.denied);
    publish_error = 0;
    published = 0;
}

static void clear_up(struct scene *s)
{
    deny_close(s->plane.denied);
    policy_free(in_force);
    in_force = NULL;
}

static void put(struct scene *s, const char *address, uint64_t end_s)
{
    struct policy_network network = {core_address(address), 128};

    assert_int_equal(deny_put(s->plane.denied, &network, end_s), 1);
}

static bool denies(const char *address)
{
    struct address source = core_address(address);

    return policy_is_denied(in_force, &source);
}

static void entries_end_within_a_period(void **state)
{
    char path[] = "/tmp/sluice-deny-XXXXXX";
    struct scene s;

    (void)state;
    close(mkstemp(path));
    set_up(&s, path);
    put(&s, "10.1.0.1", 20);
    put(&s, "10.1.0.2", DENY_FOREVER);
    plane_deny(&s.plane, true);
    assert_true(denies("10.1.0.1"));
    assert_int_equal(policy_epoch(in_force), 8);
    assert_ptr_equal(told, in_force);
    assert_int_equal(published, 1);
    assert_false(s.plane.denied->unsaved);

    plane_tend_denied(&s.plane, 20 * SECOND - 1);
    assert_int_equal(published, 1);
    assert_true(denies("10.1.0.1"));
    plane_tend_denied(&s.plane, 20 * SECOND);
    assert_int_equal(published, 2);
    assert_false(denies("10.1.0.1"));
    assert_true(denies("10.1.0.2"));
    assert_false(s.plane.denied->unsaved);
    plane_tend_denied(&s.plane, 90 * SECOND);
    assert_int_equal(published, 2);

    /* The same networks, so no other policy. */
    plane_deny(&s.plane, false);
    assert_int_equal(published, 2);
    clear_up(&s);
    unlink(path);
}

static void a_policy_that_is_not_taken_is_offered_again(void **state)
{
    struct scene s;

    (void)state;
    set_up(&s, "/nowhere/list");
    plane_deny(&s.plane, true);
    publish_error = -EBUSY;
    put(&s, "10.1.0.1", DENY_FOREVER);
    plane_deny(&s.plane, true);
    assert_true(s.plane.denied_pending);
    assert_false(denies("10.1.0.1"));
    plane_tend_denied(&s.plane, SECOND);
    assert_true(s.plane.denied_pending);
    assert_int_equal(s.settings.policy.epoch, 8);
    publish_error = 0;
    plane_tend_denied(&s.plane, SECOND);
    assert_false(s.plane.denied_pending);
    assert_true(denies("10.1.0.1"));
    assert_int_equal(s.settings.policy.epoch, 9);
    plane_tend_denied(&s.plane, SECOND);
    assert_int_equal(published, 2);
    clear_up(&s);
}

/* Whoever publishes for another reason takes it along. */
static void any_publication_will_do(void **state)
{
    struct scene s;

    (void)state;
    set_up(&s, "/nowhere/list");
    publish_error = -EBUSY;
    put(&s, "10.1.0.1", DENY_FOREVER);
    plane_deny(&s.plane, true);
    publish_error = 0;
    assert_int_equal(plane_set_tenant(&s.plane, 0, &s.tenant), 0);
    assert_false(s.plane.denied_pending);
    assert_true(denies("10.1.0.1"));
    clear_up(&s);
}

static void saving_is_tried_again_each_second(void **state)
{
    char folder[] = "/tmp/sluice-deny-XXXXXX", path[64];
    struct scene s;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/list", folder);
    rmdir(folder);
    set_up(&s, path);
    plane_tend_denied(&s.plane, 5 * SECOND);
    put(&s, "10.1.0.1", DENY_FOREVER);
    plane_deny(&s.plane, true);
    assert_int_equal(s.plane.denied_unsaved, -ENOENT);
    assert_true(s.plane.denied->unsaved);
    assert_true(denies("10.1.0.1")); /* it acts all the same */
    assert_int_equal(mkdir(folder, 0700), 0);
    plane_tend_denied(&s.plane, 6 * SECOND - 1);
    assert_true(s.plane.denied->unsaved);
    plane_tend_denied(&s.plane, 6 * SECOND);
    assert_false(s.plane.denied->unsaved);
    assert_int_equal(s.plane.denied_unsaved, 0);
    assert_int_equal(access(path, F_OK), 0);
    clear_up(&s);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_end_within_a_period),
        cmocka_unit_test(a_policy_that_is_not_taken_is_offered_again),
        cmocka_unit_test(any_publication_will_do),
        cmocka_unit_test(saving_is_tried_again_each_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
