/* What is asked of slurmctld, through libslurm: a line in, a line out, and no process for a job.
 *
 * in:  submit <tab> name <tab> tasks <tab> least nodes <tab> limit in minutes <tab> user <tab> partition or -
 *      end <tab> job <tab> exit code
 *      cancel <tab> job
 *      why <tab> job                  (it does not start)
 * out: ok <number> | error <number> <words>
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 8

/* libslurm has it, and its header does not say so. */
extern char *slurm_job_reason_string(enum job_state_reason);

static void answer(int rc, unsigned number) {
    if (rc) printf("error %d %s\n", slurm_get_errno(), slurm_strerror(slurm_get_errno()));
    else printf("ok %u\n", number);
    fflush(stdout);
}

static void submit(char **field) {
    static char *environment[] = {"PATH=/bin", 0};
    static char nowhere[] = "/dev/null", script[] = "#!/bin/true\n", folder[] = "/";
    job_desc_msg_t job;
    submit_response_msg_t *said = 0;
    slurm_init_job_desc_msg(&job);
    job.name = field[1];
    job.num_tasks = job.min_cpus = strtoul(field[2], 0, 10);
    job.min_nodes = strtoul(field[3], 0, 10);
    job.cpus_per_task = 1;
    job.time_limit = strtoul(field[4], 0, 10);
    job.user_id = job.group_id = strtoul(field[5], 0, 10);
    if (strcmp(field[6], "-")) job.partition = field[6];
    job.script = script;
    job.environment = environment;
    job.env_size = 1;
    job.work_dir = folder;
    job.std_in = job.std_out = job.std_err = nowhere;
    job.requeue = 0;
    int rc = slurm_submit_batch_job(&job, &said);
    answer(rc, said ? said->job_id : 0);
    if (said) slurm_free_submit_response_response_msg(said);
}

int main(void) {
    static char line[1 << 16];
    signal(SIGINT, SIG_IGN);
    slurm_init(0);
    answer(0, SLURM_VERSION_NUMBER);
    while (fgets(line, sizeof line, stdin)) {
        char *field[FIELDS];
        int n = 0;
        line[strcspn(line, "\n")] = 0;
        for (char *p = strtok(line, "\t"); p && n < FIELDS; p = strtok(0, "\t")) field[n++] = p;
        if (n == 7 && !strcmp(field[0], "submit")) submit(field);
        else if (n == 3 && !strcmp(field[0], "end"))
            answer(slurm_complete_job(strtoul(field[1], 0, 10), strtoul(field[2], 0, 10) << 8), 0);
        else if (n == 2 && !strcmp(field[0], "cancel"))
            answer(slurm_kill_job(strtoul(field[1], 0, 10), SIGKILL, 0), 0);
        else if (n == 2 && !strcmp(field[0], "why")) {
            job_info_msg_t *found = 0;
            if (slurm_load_job(&found, strtoul(field[1], 0, 10), 0) || !found->record_count) answer(-1, 0);
            else printf("error 0 %s\n", slurm_job_reason_string(found->job_array[0].state_reason));
            fflush(stdout);
            if (found) slurm_free_job_info_msg(found);
        } else {
            printf("error -1 no such request\n");
            fflush(stdout);
        }
    }
    return 0;
}
