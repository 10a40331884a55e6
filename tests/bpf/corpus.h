/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames of tests/bpf/corpus, each with what has to become of it. corpus/README.md. */
#ifndef SLUICE_TESTS_BPF_CORPUS_H
#define SLUICE_TESTS_BPF_CORPUS_H

#include "tests/bpf/judgement.h"
#include "tests/unit/frames.h"

struct corpus_frame {
    char where[64]; /* file and line */
    char name[64], cases[32];
    char tenant[32]; /* who is charged or refused; "" for nobody */
    uint32_t direction;
    enum reason reason;
    struct frame frame;
};

/* Calls `visit` with each frame of every *.txt in `folder`; their number. A line that cannot be
 * read fails the running test. */
unsigned corpus_visit(const char *folder, void (*visit)(const struct corpus_frame *, void *),
                      void *context);

/* A frame from its description alone. */
void corpus_build(struct frame *frame, const char *description);

#endif
