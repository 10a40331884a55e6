/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/sim/progress.h"
#include "tools/sim/run.h"

#define CHUNK_BYTES 65536u

/* What the process of a run ends with. */
enum { RUN_DONE, RUN_FAILED, RUN_WRONG };

/* The process of a run. */
struct job {
    pid_t pid;
    int fd;
    uint32_t index;
    char *bytes;
    size_t n_bytes, room;
};

/* All of them. */
struct crew {
    struct sweep *sweep;
    struct job jobs[OPTIONS_JOBS_MAX];
    uint32_t n_jobs, next, done;
    int error;
};

/* The command line has the last word over a variant. */
static bool overruled(const struct sweep *sweep, const char *sweep_key, const char *set)
{
    const struct sim_options *options = sweep->options;

    for (uint32_t i = 0; i < options->n_sets; i++) {
        if (scenario_compare_keys(sweep->base, set, options->sets[i]) == KEYS_SAME)
            return true;
    }
    return sweep_key && scenario_compare_keys(sweep->base, set, sweep_key) == KEYS_SAME;
}

static const struct scenario_variant *variant_of(const struct sweep *sweep, uint32_t index)
{
    const struct scenario *base = sweep->base;

    return base->n_variants ? &base->variants[index / (sweep->n_results / base->n_variants)] : NULL;
}

/* NULL: mistakes, which were said. */
static struct scenario *read_run(const struct sweep *sweep, uint32_t index, int *error)
{
    const struct scenario_variant *variant = variant_of(sweep, index);
    const struct run_label *label = &sweep->results[index].label;
    const struct sim_options *options = sweep->options;
    uint32_t n = 0, n_variant = variant ? variant->n_sets : 0;
    const char **sets = calloc(options->n_sets + n_variant + 1, sizeof(*sets));
    struct scenario *scenario = NULL;
    char *swept = NULL;

    *error = -ENOMEM;
    if (!sets ||
        (label->sweep_key && asprintf(&swept, "%s=%s", label->sweep_key, label->value) < 0))
        goto out;
    for (uint32_t i = 0; i < options->n_sets; i++)
        sets[n++] = options->sets[i];
    if (swept)
        sets[n++] = swept;
    for (uint32_t i = 0; i < n_variant; i++) {
        if (!overruled(sweep, label->sweep_key, variant->sets[i]))
            sets[n++] = variant->sets[i];
    }
    *error = scenario_read(sweep->base->path, sets, n, stderr, &scenario);
    if (!*error && options->seed_given)
        scenario->seed = options->seed;
out:
    free(swept);
    free(sets);
    return *error ? NULL : scenario;
}

/* What waits for ever, or longer than the engine has patience, is no result of the scenario's. */
static void warn_if_cut(const struct scenario *scenario, const struct record *record)
{
    if (record->open && !scenario->cut)
        fprintf(stderr,
                "sluice-sim: %s: warning: cut at %g s with %" PRIu64
                " pieces of work under way, though end = \"play\"\n",
                scenario->path, record->end_s, record->open);
}

static int play(const struct sweep *sweep, const struct scenario *scenario, uint32_t index, int fd)
{
    struct result result;
    struct record record;
    int error = record_init(&record, scenario);

    if (error)
        goto out;
    error = run_scenario(scenario, &record);
    if (!error && record.failed)
        error = -ENOMEM;
    if (!error)
        warn_if_cut(scenario, &record);
    if (!error)
        error = result_make(&result, scenario, &record, &sweep->results[index].label, sweep->rows);
    record_free(&record);
    if (error)
        goto out;
    error = result_write(&result, fd);
    result_free(&result);
out:
    if (error)
        fprintf(stderr, "sluice-sim: %s: %s\n", scenario->path,
                error == -EINVAL ? "the gate does not take this configuration" : strerror(-error));
    return error == 0 ? RUN_DONE : error == -EINVAL ? RUN_WRONG : RUN_FAILED;
}

static int start(struct crew *crew)
{
    struct sweep *sweep = crew->sweep;
    struct job *job = &crew->jobs[crew->n_jobs];
    struct scenario *scenario;
    pid_t parent = getpid();
    int error, ends[2];

    *job = (struct job){.index = crew->next++};
    scenario = read_run(sweep, job->index, &error);
    if (!scenario)
        return error == -ENOMEM ? error : -EINVAL;
    if (!result_check_columns(scenario, stderr)) {
        scenario_free(scenario);
        return -EINVAL;
    }
    if (pipe(ends)) {
        error = -errno;
        scenario_free(scenario);
        return error;
    }
    fflush(NULL);
    job->pid = fork();
    if (job->pid == 0) {
        /* Nobody reads the result of an orphan. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
            _exit(RUN_FAILED);
        close(ends[0]);
        _exit(play(sweep, scenario, job->index, ends[1]));
    }
    error = job->pid < 0 ? -errno : 0;
    close(ends[1]);
    scenario_free(scenario);
    job->fd = ends[0];
    if (error)
        close(ends[0]);
    else
        crew->n_jobs++;
    return error;
}

/* 1: there may be more, 0: it has ended, or -ENOMEM. */
static int take(struct job *job)
{
    ssize_t n;

    if (job->room - job->n_bytes < CHUNK_BYTES) {
        size_t room = 2 * job->room + CHUNK_BYTES;
        char *grown = realloc(job->bytes, room);

        if (!grown)
            return -ENOMEM;
        job->bytes = grown;
        job->room = room;
    }
    n = read(job->fd, job->bytes + job->n_bytes, job->room - job->n_bytes);
    if (n < 0 && errno == EINTR)
        return 1;
    if (n > 0)
        job->n_bytes += (size_t)n;
    return n > 0;
}

/* The job's place is taken by the last one. */
static int end(struct crew *crew, struct job *job)
{
    struct result *result = &crew->sweep->results[job->index];
    int status = 0, error = 0;

    close(job->fd);
    while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "sluice-sim: a run was ended by signal %d\n", WTERMSIG(status));
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        error = WIFEXITED(status) && WEXITSTATUS(status) == RUN_WRONG ? -EINVAL : -EIO;
    else
        error = result_read(result, job->bytes, job->n_bytes);
    free(job->bytes);
    *job = crew->jobs[--crew->n_jobs];
    crew->done++;
    return error;
}

static int wait_for_any(struct crew *crew)
{
    struct pollfd fds[OPTIONS_JOBS_MAX];

    for (uint32_t i = 0; i < crew->n_jobs; i++)
        fds[i] = (struct pollfd){.fd = crew->jobs[i].fd, .events = POLLIN};
    if (poll(fds, crew->n_jobs, progress_wanted() ? 1000 : -1) < 0)
        return errno == EINTR ? 0 : -errno;
    /* From the last, whose place another may take. */
    for (uint32_t i = crew->n_jobs; i-- > 0;) {
        int more = fds[i].revents ? take(&crew->jobs[i]) : 1;

        if (more < 0)
            return more;
        if (more == 0) {
            int error = end(crew, &crew->jobs[i]);

            if (error)
                return error;
        }
    }
    return 0;
}

/* Of whatever still runs nothing is wanted. */
static void dismiss(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->n_jobs; i++) {
        kill(crew->jobs[i].pid, SIGKILL);
        close(crew->jobs[i].fd);
        while (waitpid(crew->jobs[i].pid, NULL, 0) < 0 && errno == EINTR)
            ;
        free(crew->jobs[i].bytes);
    }
}

static void label_runs(struct sweep *sweep)
{
    const struct sim_options *options = sweep->options;
    const struct scenario *base = sweep->base;
    bool own = options->sweep_key != NULL;
    uint32_t n_values = own ? options->n_values : base->n_values;

    for (uint32_t i = 0; i < sweep->n_results; i++) {
        const struct scenario_variant *variant = variant_of(sweep, i);
        struct run_label *label = &sweep->results[i].label;

        if (variant)
            label->variant = variant->name;
        if (n_values == 0)
            continue;
        label->sweep_key = own ? options->sweep_key : base->sweep_key;
        label->value = own ? options->values[i % n_values] : base->values[i % n_values];
    }
}

/* Which of them has the last word over what? A variant without a gate has none, whatever is set
 * within it. */
static bool goes_with(const struct sweep *sweep, const struct scenario_variant *variant,
                      const char *set, const char *other)
{
    if (!strcmp(set, "gate=none") && strcspn(other, "=") != strlen("gate"))
        return true;
    if (scenario_compare_keys(sweep->base, set, other) != KEYS_NESTED)
        return true;
    fprintf(stderr, "sluice-sim: %s: variant %s: %s does not go with %s: one is within the other\n",
            sweep->base->path, variant->name, set, other);
    return false;
}

static bool variants_go_with_the_rest(const struct sweep *sweep)
{
    const struct sim_options *options = sweep->options;
    const struct scenario *base = sweep->base;
    const char *swept = options->sweep_key ? options->sweep_key : base->sweep_key;
    bool well = true;

    for (uint32_t i = 0; i < base->n_variants; i++) {
        const struct scenario_variant *variant = &base->variants[i];

        for (uint32_t j = 0; j < variant->n_sets; j++) {
            for (uint32_t k = 0; k < options->n_sets; k++)
                well &= goes_with(sweep, variant, variant->sets[j], options->sets[k]);
            if (swept)
                well &= goes_with(sweep, variant, variant->sets[j], swept);
        }
    }
    return well;
}

int sweep_run(struct sweep *sweep)
{
    const struct sim_options *options = sweep->options;
    uint32_t n_values = options->sweep_key ? options->n_values : sweep->base->n_values;
    struct crew crew = {.sweep = sweep};
    struct progress progress;

    if (!variants_go_with_the_rest(sweep))
        return -EINVAL;
    sweep->n_results =
        (sweep->base->n_variants ? sweep->base->n_variants : 1) * (n_values ? n_values : 1);
    sweep->results = calloc(sweep->n_results, sizeof(*sweep->results));
    if (!sweep->results)
        return -ENOMEM;
    label_runs(sweep);
    progress_begin(&progress, sweep->n_results);
    while (crew.done < sweep->n_results && !crew.error) {
        while (crew.n_jobs < options->jobs && crew.next < sweep->n_results && !crew.error)
            crew.error = start(&crew);
        if (!crew.error)
            crew.error = wait_for_any(&crew);
        progress_show(&progress, crew.done);
    }
    progress_end();
    dismiss(&crew);
    return crew.error;
}

void sweep_free(struct sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->n_results; i++)
        result_free(&sweep->results[i]);
    free(sweep->results);
    sweep->results = NULL;
    sweep->n_results = 0;
}
