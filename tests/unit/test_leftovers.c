/* SPDX-License-Identifier: BSD-3-Clause */
/* Which directories of EAL are ours to remove. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataplane/worker/leftovers.h"

static char runtime[] = "/tmp/sluice-leftovers-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", runtime, name);
    return path;
}

static const char *of_process(pid_t pid)
{
    static char name[32];

    snprintf(name, sizeof(name), "sluice%d", (int)pid);
    return name;
}

/* With a file in it. */
static void make(const char *name)
{
    char path[160];
    FILE *file;

    assert_int_equal(mkdir(path_of(name), 0700), 0);
    snprintf(path, sizeof(path), "%s/config", path_of(name));
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static bool there(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void clear(const char *name)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/config", path_of(name));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(path_of(name)), 0);
}

static pid_t ended_process(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static void those_of_ended_processes_go(void **state)
{
    static const char *const others[] = {"sluice", "sluice0", "sluice-1", "rte",
                                         "sluice99999999999"};
    char dead[32], full[32], near[40];

    (void)state;
    snprintf(dead, sizeof(dead), "%s", of_process(ended_process()));
    snprintf(full, sizeof(full), "%s", of_process(ended_process()));
    snprintf(near, sizeof(near), "%sx", dead);
    assert_int_equal(mkdir(path_of(dead), 0700), 0);
    assert_int_equal(mkdir(path_of(near), 0700), 0);
    make(full);
    make(of_process(getpid()));
    make(of_process(getppid()));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        make(others[i]);
    leftovers_remove_dead(path_of(of_process(getpid())));
    assert_false(there(dead));
    assert_int_equal(rmdir(path_of(near)), 0);
    /* Its process may live on where we do not see it. */
    leftovers_remove_dead(path_of(full));
    clear(full);
    clear(of_process(getpid()));
    clear(of_process(getppid()));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        clear(others[i]);
}

static void ones_own_goes_with_what_is_in_it(void **state)
{
    (void)state;
    make(of_process(getpid()));
    leftovers_remove_own(path_of(of_process(getpid())));
    assert_false(there(of_process(getpid())));
    make(of_process(getppid()));
    leftovers_remove_own(path_of(of_process(getppid())));
    clear(of_process(getppid()));
    /* Under a prefix that others may use, it goes if they have nothing in it. */
    make("rte");
    leftovers_remove_own(path_of("rte"));
    clear("rte");
    assert_int_equal(mkdir(path_of("rte"), 0700), 0);
    leftovers_remove_own(path_of("rte"));
    assert_false(there("rte"));
    /* No way through a link to what is not ours. */
    make("victim");
    assert_int_equal(symlink("victim", path_of(of_process(getpid()))), 0);
    leftovers_remove_own(path_of(of_process(getpid())));
    clear("victim");
    assert_int_equal(unlink(path_of(of_process(getpid()))), 0);
    /* EAL had not come so far as to make one. */
    leftovers_remove_dead("");
    leftovers_remove_own("");
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(runtime) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_of_ended_processes_go),
        cmocka_unit_test(ones_own_goes_with_what_is_in_it),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
