/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that the kernel refuses, and what is said of it: by us, and by the libraries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include "tests/bpf/kernel.h"
#include "tests/bpf/wires.h"

static libbpf_prog_prepare_load_fn_t prepare; /* before a program is loaded; NULL: nothing */
static int started;                           /* what house_start() returned */

static int stop(void **state)
{
    unsetenv("SLUICE_BPF_LOG");
    prepare = NULL;
    return wires_tear_down(state);
}

static void start_house(void)
{
    started = house_start(&tested);
}

static void assert_says(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("\"%s\" does not say \"%s\"", text ? text : "", part);
}

static void assert_said(void (*run)(void), const char *expected)
{
    char *said = wires_said_by(run);

    assert_string_equal(said, expected);
    free(said);
}

static void assert_off(const char *why)
{
    for (unsigned w = 0; w < WIRES; w++) {
        const struct xdp_view view = house_view(w, 1);

        assert_int_equal(view.state, XDP_STATE_OFF);
        assert_string_equal(view.why, why);
    }
}

/* -- programs that are refused: libbpf asks us before it loads one -- */

static int before_load(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
    return prepare ? prepare(program, options, cookie) : 0;
}

/* Once for all tests: libbpf 1.1 frees its last handler twice. */
static void watch_loads(void)
{
    LIBBPF_OPTS(libbpf_prog_handler_opts, options, .prog_prepare_load_fn = before_load);

    if (libbpf_register_prog_handler("xdp", BPF_PROG_TYPE_XDP, BPF_XDP, &options) < 0)
        abort();
}

/* It reads where its context has ended, first of all; what else it does stays. */
static int spoil(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
    const size_t n = bpf_program__insn_cnt(program);
    struct bpf_insn *insns = calloc(n, sizeof(*insns));
    int err;

    (void)options;
    (void)cookie;
    assert_non_null(insns);
    memcpy(insns, bpf_program__insns(program), n * sizeof(*insns));
    insns[0] = (struct bpf_insn){
        .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_1, .off = 4000};
    err = bpf_program__set_insns(program, insns, n);
    free(insns);
    return err;
}

/* The same without a word of the verifier's. */
static int decline(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
    (void)program;
    (void)options;
    (void)cookie;
    return -EOPNOTSUPP;
}

#define REFUSAL                                                                                    \
    "the kernel's verifier refuses the XDP program: invalid bpf_context access off=4000 size=4 "   \
    "(SLUICE_BPF_LOG=1 shows all)"

static void the_verifiers_last_word_is_told(void **state)
{
    (void)state;
    prepare = spoil;
    assert_said(start_house, "");
    assert_int_equal(started, -EACCES);
    assert_string_equal(tested.why,
                        "gate front, interface out0: xdp is \"required\", but " REFUSAL);
    assert_said(xdp_tell_said, ""); /* nothing else is of interest */
}

static void an_optional_program_that_is_refused_is_a_line_each(void **state)
{
    (void)state;
    tested.settings.dataplane.gates[0].xdp.use = XDP_OPTIONAL;
    prepare = spoil;
    assert_said(start_house, "sluiced: gate front, interface out0: no XDP: " REFUSAL
                             "\nsluiced: gate front, interface in0: no XDP: " REFUSAL "\n");
    assert_int_equal(started, 0);
    assert_off(REFUSAL);
    house_stop(&tested);
}

static void all_that_the_verifier_says_is_there_on_request(void **state)
{
    char *said;

    (void)state;
    setenv("SLUICE_BPF_LOG", "1", 1);
    prepare = spoil;
    said = wires_said_by(start_house);
    assert_int_equal(started, -EACCES);
    assert_says(said, "libbpf: prog 'sluice_gate': BPF program load failed: Permission denied\n");
    assert_says(said, "(61) r0 = *(u32 *)(r1 +4000)\n"
                      "invalid bpf_context access off=4000 size=4\n"
                      "processed "); /* elder kernels have looked at others before */
    free(said);
}

static void case_X04_a_kernel_without_btf_is_named_only_if_it_refuses(void **state)
{
    (void)state;
    if (mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL) != 0) {
        print_message("SKIPPED: /sys/kernel/btf cannot be hidden: %s\n", strerror(errno));
        skip();
    }
    assert_said(start_house, "");
    assert_int_equal(started, 0);
    house_stop(&tested);
    prepare = decline;
    assert_said(start_house, "");
    assert_int_equal(started, -EOPNOTSUPP);
    assert_says(tested.why, "but the kernel refuses the XDP program: Operation not supported, "
                            "perhaps because it has no BTF (CONFIG_DEBUG_INFO_BTF)");
    assert_int_equal(umount("/sys/kernel/btf"), 0);
    assert_said(start_house, "");
    assert_null(strstr(tested.why, "BTF"));
}

/* -- maps that somebody else keeps there -- */

static int keep_pins(void)
{
    char parent[128];
    int fd;

    snprintf(parent, sizeof(parent), "%s", wires_pins());
    *strrchr(parent, '/') = '\0';
    assert_int_equal(mkdir(parent, 0700), 0);
    assert_int_equal(mkdir(wires_pins(), 0700), 0);
    fd = open(wires_pins(), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

static void case_X04_pins_of_a_live_daemon_stay(void **state)
{
    int fd = keep_pins();
    char expected[256];

    (void)state;
    snprintf(expected, sizeof(expected),
             "gate front, interface out0: xdp is \"required\", but control.pins is %s, where "
             "another live daemon keeps its maps: each needs its own",
             wires_pins());
    assert_said(start_house, "");
    assert_int_equal(started, -EBUSY);
    assert_string_equal(tested.why, expected);
    tested.settings.dataplane.gates[0].xdp.use = XDP_OPTIONAL;
    assert_int_equal(house_start(&tested), 0);
    assert_off(strstr(expected, "control.pins"));
    house_stop(&tested);
    assert_int_equal(access(wires_pins(), F_OK), 0);

    close(fd); /* its end */
    tested.settings.dataplane.gates[0].xdp.use = XDP_REQUIRED;
    assert_int_equal(house_start(&tested), 0);
    house_stop(&tested);
    assert_int_equal(access(wires_pins(), F_OK), -1);
}

/* -- what the libraries say of the driver's own program -- */

static void say_of_the_driver(void)
{
    bpf_object__open_file("/nowhere/bpf.o", NULL);
    xdp_program__find_file("nowhere.o", "xdp", NULL);
}

#define SAID_BY_BPF "libbpf: elf: failed to open /nowhere/bpf.o: No such file or directory\n"
#define SAID_BY_XDP "libxdp: Couldn't find a BPF file with name nowhere.o\n"

static void what_libraries_say_is_kept_for_a_start_that_fails(void **state)
{
    (void)state;
    tested.settings.dataplane.gates[0].xdp.use = XDP_OFF;
    assert_said(start_house, "");
    assert_said(say_of_the_driver, "");
    assert_said(xdp_tell_said, SAID_BY_BPF SAID_BY_XDP);
    assert_said(xdp_tell_said, "");
    house_stop(&tested);

    setenv("SLUICE_BPF_LOG", "1", 1);
    assert_int_equal(house_start(&tested), 0);
    assert_said(say_of_the_driver, SAID_BY_BPF SAID_BY_XDP);
    assert_said(xdp_tell_said, "");
    house_stop(&tested);
}

static void only_whole_lines_are_kept(void **state)
{
    char *said;
    size_t bytes;

    (void)state;
    assert_int_equal(house_start(&tested), 0);
    for (unsigned i = 0; i < 100; i++)
        bpf_object__open_file("/nowhere/bpf.o", NULL);
    said = wires_said_by(xdp_tell_said);
    bytes = strlen(said);
    assert_int_equal(bytes, 4095 / strlen(SAID_BY_BPF) * strlen(SAID_BY_BPF));
    free(said);
    house_stop(&tested);
}

#define REFUSED_TEST(name) cmocka_unit_test_setup_teardown(name, wires_set_up, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REFUSED_TEST(the_verifiers_last_word_is_told),
        REFUSED_TEST(an_optional_program_that_is_refused_is_a_line_each),
        REFUSED_TEST(all_that_the_verifier_says_is_there_on_request),
        REFUSED_TEST(case_X04_a_kernel_without_btf_is_named_only_if_it_refuses),
        REFUSED_TEST(case_X04_pins_of_a_live_daemon_stay),
        REFUSED_TEST(what_libraries_say_is_kept_for_a_start_that_fails),
        REFUSED_TEST(only_whole_lines_are_kept),
    };

    kernel_skip_if_missing();
    wires_enter();
    watch_loads();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
