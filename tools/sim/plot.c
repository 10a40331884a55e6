/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sim/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void plot_text(FILE *script, const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  " .,:;/+-=*()[]_%!";

    for (; *text && *text != '\n'; text++) {
        if (*text == '\'')
            fputs("''", script); /* one, between such quotes */
        else
            fputc(strchr(allowed, *text) ? *text : '?', script);
    }
}

void plot_begin(FILE *script, const struct sweep *sweep, const char *of)
{
    const char *scenario = sweep->options->scenario, *slash = strrchr(scenario, '/');

    fputs("set terminal svg size 960,1000 dynamic enhanced font 'Sans,13' background 'white'\n"
          "set encoding utf8\n"
          "set multiplot layout 3,1 margins 0.09,0.7,0.06,0.94 spacing 0.09 title '",
          script);
    if (*sweep->base->about) {
        plot_text(script, sweep->base->about);
        fputs("'.\"\\n\".'", script);
    }
    plot_text(script, slash ? slash + 1 : scenario);
    if (of) {
        fputs(", ", script);
        plot_text(script, of);
    }
    /* Told apart by lightness and dashes too, for print and for those who do not see colours. */
    fputs("' noenhanced font ',16'\n"
          "set grid back linecolor '#d8d8d8' linetype 1\n"
          "set key at screen 0.775, graph 1 left top Left reverse samplen 3 noenhanced\n"
          "set border 3\n"
          "set tics nomirror\nset format y '%.12g'\nset format y2 '%.12g'\n"
          "set style line 1 linecolor '#000000' linewidth 1.5 dashtype 1 pointtype 7\n"
          "set style line 2 linecolor '#3f8fd2' linewidth 2 dashtype 1 pointtype 5\n"
          "set style line 3 linecolor '#6ccd5a' linewidth 3 dashtype 1 pointtype 9\n"
          "set style line 4 linecolor '#d95f02' linewidth 2 dashtype 2 pointtype 13\n"
          "set style line 5 linecolor '#7b3294' linewidth 1.5 dashtype 4 pointtype 11\n"
          "set style line 6 linecolor '#e6ab02' linewidth 2 dashtype 5 pointtype 4\n"
          "set style line 7 linecolor '#666666' linewidth 1.5 dashtype 3 pointtype 6\n"
          "set style line 8 linecolor '#c0392b' linewidth 1.5 dashtype '_-' pointtype 8\n"
          "set style line 9 linecolor '#17becf' linewidth 1.5 dashtype '_..' pointtype 10\n"
          "set style line 10 linecolor '#8c564b' linewidth 1.5 dashtype '.-' pointtype 12\n",
          script);
}

void plot_range(FILE *script, const char *axis, double max)
{
    fprintf(script, "set %srange [0:%s]\n", axis, max > 0 ? "*" : "1");
}

double plot_per_s(double max_s, const char **unit)
{
    *unit = max_s < 10 ? "ms" : "s";
    return max_s < 10 ? 1e3 : 1;
}

/* gnuplot, its stdin at *in and its stdout in the file. 0 or -errno. */
static int spawn_gnuplot(const char *path, int *in, pid_t *pid)
{
    static char name[] = "gnuplot";
    char *const argv[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], error, fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0 || pipe2(ends, O_CLOEXEC)) {
        error = -errno;
        fprintf(stderr, "sluice-sim: %s: %s\n", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return error;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    error = -posix_spawnp(pid, name, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    close(fd);
    *in = ends[1];
    if (error) {
        fprintf(stderr, "sluice-sim: no picture: gnuplot: %s (Debian: gnuplot-nox)\n",
                strerror(-error));
        close(ends[1]);
        unlink(path);
    }
    return error;
}

/* One picture: of a run, or (NULL) of the sweep. */
static int draw(const struct sweep *sweep, const struct result *result, const char *path)
{
    int in = -1, status = 0, error;
    FILE *script;
    pid_t pid;

    error = spawn_gnuplot(path, &in, &pid);
    if (error)
        return error;
    script = fdopen(in, "w");
    if (script) {
        if (result)
            plot_time(script, sweep, result);
        else
            plot_sweep(script, sweep);
        fclose(script);
    } else {
        close(in);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (script && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    fprintf(stderr, "sluice-sim: %s: gnuplot failed\n", path);
    return -EIO;
}

/* "out.svg" of variant A: "out-A.svg". NULL: no memory. */
static char *path_of(const char *path, const char *variant)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
    char *name;

    return asprintf(&name, "%.*s-%s%s", (int)stem, path, variant, path + stem) < 0 ? NULL : name;
}

int plot(const struct sweep *sweep, const char *path)
{
    /* A gnuplot that ends early is told by its exit code. */
    sighandler_t before = signal(SIGPIPE, SIG_IGN);
    int error = 0;

    if (sweep->results[0].label.sweep_key) {
        error = draw(sweep, NULL, path);
    } else if (sweep->n_results == 1) {
        error = draw(sweep, &sweep->results[0], path);
    } else {
        for (uint32_t i = 0; i < sweep->n_results && !error; i++) {
            char *name = path_of(path, sweep->results[i].label.variant);

            error = name ? draw(sweep, &sweep->results[i], name) : -ENOMEM;
            free(name);
        }
    }
    signal(SIGPIPE, before);
    return error;
}
