/* SPDX-License-Identifier: BSD-3-Clause */
/* What was made of a packet, by whichever path. */
#ifndef SLUICE_TESTS_BPF_JUDGEMENT_H
#define SLUICE_TESTS_BPF_JUDGEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/admission/verdict.h"

#define NO_TENANT UINT32_MAX

struct judgement {
    enum reason reason; /* REASON_NONE: it passed */
    uint32_t tenant;    /* id of who was charged or refused; NO_TENANT: nobody */
};

#endif
