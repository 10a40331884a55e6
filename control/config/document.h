/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file in libconfig's syntax, from its bytes to a tree whose values a reader (reader.h) takes:
 * the bytes are scanned (scan.h), libconfig reads what the scan leaves of them, and each setting
 * gets its scanned node. Mistakes are collected and told together. One thread at a time.
 */
#ifndef SLUICE_CONFIG_DOCUMENT_H
#define SLUICE_CONFIG_DOCUMENT_H

#include <libconfig.h>
#include <stddef.h>
#include <stdio.h>

#include "control/config/config.h"
#include "control/config/report.h"
#include "control/config/scan.h"

struct document {
    const char *path;
    char *text; /* malloc()ed; may be replaced before it is parsed */
    size_t length;
    struct scan scan;
    struct report report;
    config_t config;
};

/*
 * Reads the bytes of `path`, which must outlive the document. 0, or -ENOENT, -EACCES, -EISDIR,
 * -EFBIG, -EINVAL (no regular file) and their like, -ENOMEM, told on `out`. Call document_close()
 * after it in any case.
 */
int document_open(struct document *document, const char *path, FILE *out);

/* Once. 0; -EINVAL: no tree, and the report says why; -ENOMEM. Mistakes may be reported even where
 * there is a tree. */
int document_parse(struct document *document);

/* Tells what was reported so far, with the path of the document, and forgets it. */
void document_tell(struct document *document, FILE *out);

void document_close(struct document *document);

/* The daemon's settings from a parsed document, as config_load() does; the report is not told yet.
 */
int config_read_document(struct document *document, const struct config_host *host,
                         struct settings **out);

#endif
