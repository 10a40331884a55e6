/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/admission/verdict.h"

struct reason_text {
    const char *name;
    enum reason_kind kind;
    int http_status;
};

static const struct reason_text reasons[REASON_MAX] = {
    [REASON_NONE] = {"none", REASON_KIND_NONE, 0},
#define REASON_TEXT(symbol, name, kind, http) [REASON_##symbol] = {name, REASON_KIND_##kind, http},
    SLUICE_REASONS(REASON_TEXT)
#undef REASON_TEXT
};

static const struct reason_text *reason_text(enum reason reason)
{
    return &reasons[(unsigned)reason < REASON_MAX ? reason : REASON_NONE];
}

const char *reason_name(enum reason reason)
{
    return reason_text(reason)->name;
}

enum reason_kind reason_kind(enum reason reason)
{
    return reason_text(reason)->kind;
}

int reason_http_status(enum reason reason)
{
    return reason_text(reason)->http_status;
}
