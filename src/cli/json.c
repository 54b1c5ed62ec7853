/* Reports that the library still hands out as jansson values, with the command added. */
#include "cli/cli.h"
#include "core/json.h"

mw_status mw_cli_json(json_t *value, const char *path, const char *command, mw_error *error) {
    if (!value || !command) {
        json_decref(value);
        return mw_fail(error, MW_ERR_MEMORY, "cannot make the report");
    }
    char cpu[128];
    mw_cpu_model(cpu, sizeof cpu);
    json_object_set_new(value, "command", json_string(command));
    json_object_set_new(value, "cpu", json_string(cpu));
    mw_status status = MW_OK;
    if (*path) {
        status = mw_json_write(value, path, error);
    } else {
        status = mw_json_print(value, stdout, 10, error);
    }
    json_decref(value);
    return status;
}
