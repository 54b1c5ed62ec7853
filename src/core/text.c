/* A stream into memory; see mawam/file.h. The C library's own loses what it has no memory for and says
 * nothing: neither ferror nor fclose know of it. */
#include "core/error.h"
#include "mawam/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static ssize_t take(void *context, const char *bytes, size_t size) {
    mw_text *text = context;
    const size_t needed = text->size + size + 1;
    if (!text->failed && needed > text->room) {
        const size_t room = needed + needed / 2 + 1024;
        char *larger = realloc(text->bytes, room);
        text->failed = !larger;
        if (larger) {
            text->bytes = larger;
            text->room = room;
        }
    }
    if (text->failed) return 0; /* that is how a stream learns of it */
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return (ssize_t)size;
}

mw_status mw_text_open(mw_text *text, mw_error *error) {
    MW_NEED(text);
    *text = (mw_text){0};
    text->stream = fopencookie(text, "w", (cookie_io_functions_t){.write = take});
    return text->stream ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "out of memory for a text");
}

mw_status mw_text_close(mw_text *text, mw_error *error) {
    MW_NEED(text);
    MW_NEED_AS(text->stream, "text->stream");
    const bool lost = ferror(text->stream) != 0;
    const bool whole = fclose(text->stream) == 0 && take(text, "", 0) == 0 && !text->failed && !lost;
    text->stream = NULL;
    if (whole) {
        text->bytes[text->size] = 0;
        return MW_OK;
    }
    free(text->bytes);
    text->bytes = NULL;
    return mw_fail(error, MW_ERR_MEMORY, "out of memory for a text of %zu bytes", text->size);
}
