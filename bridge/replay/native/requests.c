/* Requests to slurmctld, through libslurm: a line in, a line out, and no process for a job.
 *
 * in:  submit <tab> key=value <tab> ...         a job: the keys are those of describe() below
 *      allocate <tab> key=value <tab> ...       a job that starts now, or not at all
 *      end <tab> job <tab> exit code
 *      cancel <tab> job
 *      begin <tab> job <tab> date               it starts no earlier
 *      why <tab> job                            (it does not start)
 *      report <tab> job                         generic resources of a job that runs, on each of its nodes
 *      node <tab> names <tab> down, drain or resume <tab> reason
 *      reserve <tab> name <tab> begin <tab> end <tab> nodes <tab> cores of each, or - for all <tab> user <tab> 1 for maintenance
 * out: ok <number> [<nodes> <CPUs of each>] [<resources> ...] | error <number> <words>
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS 40

/* libslurm has these, and its header does not say so. */
extern char *slurm_job_reason_string(enum job_state_reason);
extern slurm_conf_t slurm_conf;

static char *environment[] = {"PATH=/bin", 0};
static char nowhere[] = "/dev/null", script[] = "#!/bin/true\n", folder[] = "/";

static void answer(int rc, unsigned number) {
    if (rc) printf("error %d %s\n", slurm_get_errno(), slurm_strerror(slurm_get_errno()));
    else printf("ok %u\n", number);
    fflush(stdout);
}

static void refuse(const char *why) {
    printf("error -1 %s\n", why);
    fflush(stdout);
}

/* What the fields say of a job; NULL, or the key that is not known. */
static char *describe(job_desc_msg_t *job, char **field, int n) {
    slurm_init_job_desc_msg(job);
    job->cpus_per_task = 1;
    job->work_dir = folder;
    job->requeue = 0;
    for (int i = 1; i < n; i++) {
        char *value = strchr(field[i], '=');
        if (!value) return field[i];
        *value++ = 0;
        const char *key = field[i];
        unsigned long number = strtoul(value, 0, 10);
        if (!strcmp(key, "name")) job->name = value;
        else if (!strcmp(key, "tasks")) job->num_tasks = number;
        else if (!strcmp(key, "cpus")) job->min_cpus = number;
        else if (!strcmp(key, "cpus_per_task")) job->cpus_per_task = number;
        else if (!strcmp(key, "nodes")) job->min_nodes = number;
        else if (!strcmp(key, "most_nodes")) job->max_nodes = number;
        else if (!strcmp(key, "minutes")) job->time_limit = number;
        else if (!strcmp(key, "user")) job->user_id = job->group_id = number;
        else if (!strcmp(key, "account")) job->account = value;
        else if (!strcmp(key, "partition")) job->partition = value;
        else if (!strcmp(key, "dependency")) job->dependency = value;
        else if (!strcmp(key, "begin")) job->begin_time = number;
        else if (!strcmp(key, "features")) job->features = value;
        else if (!strcmp(key, "reservation")) job->reservation = value;
        else if (!strcmp(key, "switches")) job->req_switch = number;
        else if (!strcmp(key, "switches_s")) job->wait4switch = number;
        else if (!strcmp(key, "priority")) job->priority = number;
        else if (!strcmp(key, "memory_mb")) job->pn_min_memory = number | MEM_PER_CPU;
        else if (!strcmp(key, "gres")) job->tres_per_task = value;
        else if (!strcmp(key, "gres_per_node")) job->tres_per_node = value;
        else if (!strcmp(key, "gres_per_job")) job->tres_per_job = value;
        else if (!strcmp(key, "licences")) job->licenses = value;
        else if (!strcmp(key, "on")) job->req_nodes = value;
        else if (!strcmp(key, "requeue")) job->requeue = number;
        else return field[i];
    }
    return 0;
}

static void submit(job_desc_msg_t *job) {
    submit_response_msg_t *said = 0;
    job->script = script;
    job->environment = environment;
    job->env_size = 1;
    job->std_in = job->std_out = job->std_err = nowhere;
    int rc = slurm_submit_batch_job(job, &said);
    answer(rc, said ? said->job_id : 0);
    if (said) slurm_free_submit_response_response_msg(said);
}

static void allocate(job_desc_msg_t *job) {
    resource_allocation_response_msg_t *said = 0;
    job->immediate = 1;
    if (slurm_allocate_resources(job, &said) || !said || !said->node_list) {
        answer(-1, 0);
    } else {
        printf("ok %u %s ", said->job_id, said->node_list);
        for (unsigned i = 0; i < said->num_cpu_groups; i++)
            printf("%s%ux%u", i ? "," : "", said->cpus_per_node[i], said->cpu_count_reps[i]);
        printf("\n");
        fflush(stdout);
    }
    if (said) slurm_free_resource_allocation_response_msg(said);
}

static void begin(unsigned long number, unsigned long date) {
    job_desc_msg_t job;
    slurm_init_job_desc_msg(&job);
    job.job_id = number;
    job.begin_time = date;
    answer(slurm_update_job(&job), number);
}

static void node(char **field) {
    update_node_msg_t node;
    slurm_init_update_node_msg(&node);
    node.node_names = field[1];
    node.node_state = !strcmp(field[2], "down") ? NODE_STATE_DOWN
        : !strcmp(field[2], "drain") ? NODE_STATE_DRAIN : NODE_RESUME;
    node.reason = field[3];
    answer(slurm_update_node(&node), 0);
}

static void reserve(char **field) {
    resv_desc_msg_t window;
    uint32_t cores[2] = {0, 0};
    slurm_init_resv_desc_msg(&window);
    window.name = field[1];
    window.start_time = strtoul(field[2], 0, 10);
    window.end_time = strtoul(field[3], 0, 10);
    window.node_list = field[4];
    if (strcmp(field[5], "-")) {
        cores[0] = strtoul(field[5], 0, 10);
        window.core_cnt = cores;
    }
    window.users = field[6];
    window.flags = RESERVE_FLAG_IGN_JOBS | (*field[7] == '1' ? RESERVE_FLAG_MAINT : 0);
    char *name = slurm_create_reservation(&window);
    answer(name == 0, 0);
    free(name);
}

static void why(unsigned long number) {
    job_info_msg_t *found = 0;
    if (slurm_load_job(&found, number, 0) || !found->record_count) answer(-1, 0);
    else printf("error 0 %s\n", slurm_job_reason_string(found->job_array[0].state_reason));
    fflush(stdout);
    if (found) slurm_free_job_info_msg(found);
}

static void report(unsigned long number) {
    job_info_msg_t *found = 0;
    if (slurm_load_job(&found, number, SHOW_DETAIL) || !found->record_count) {
        answer(-1, 0);
    } else {
        job_info_t *job = &found->job_array[0];
        printf("ok %lu", number);
        for (unsigned i = 0; i < job->gres_detail_cnt; i++) {
            char *of_node = job->gres_detail_str[i];
            printf(" %s", of_node && *of_node ? of_node : "-");
        }
        printf("\n");
        fflush(stdout);
    }
    if (found) slurm_free_job_info_msg(found);
}

int main(void) {
    static char line[1 << 20];
    signal(SIGINT, SIG_IGN);
    slurm_init(0);
    /* An answer comes when slurmctld has computed it; no real time is a limit, and the longest that there is, 18 h, is none. */
    slurm_conf.msg_timeout = UINT16_MAX;
    answer(0, SLURM_VERSION_NUMBER);
    while (fgets(line, sizeof line, stdin)) {
        char *field[FIELDS], *unknown = 0, *p;
        int n = 0, of_job;
        job_desc_msg_t job;
        if (!strchr(line, '\n')) { /* the rest of it is no line of its own */
            for (int c = 0; c != '\n' && c != EOF;) c = getchar();
            refuse("a line is too long");
            continue;
        }
        line[strcspn(line, "\n")] = 0;
        for (p = strtok(line, "\t"); p && n < FIELDS; p = strtok(0, "\t")) field[n++] = p;
        if (p) {
            refuse("too many fields");
            continue;
        }
        of_job = n && (!strcmp(field[0], "submit") || !strcmp(field[0], "allocate"));
        if (of_job) unknown = describe(&job, field, n);
        if (of_job && !unknown) (*field[0] == 's' ? submit : allocate)(&job);
        else if (n == 3 && !strcmp(field[0], "end"))
            answer(slurm_complete_job(strtoul(field[1], 0, 10), strtoul(field[2], 0, 10) << 8), 0);
        else if (n == 2 && !strcmp(field[0], "cancel"))
            answer(slurm_kill_job(strtoul(field[1], 0, 10), SIGKILL, 0), 0);
        else if (n == 3 && !strcmp(field[0], "begin")) begin(strtoul(field[1], 0, 10), strtoul(field[2], 0, 10));
        else if (n == 4 && !strcmp(field[0], "node")) node(field);
        else if (n == 8 && !strcmp(field[0], "reserve")) reserve(field);
        else if (n == 2 && !strcmp(field[0], "why")) why(strtoul(field[1], 0, 10));
        else if (n == 2 && !strcmp(field[0], "report")) report(strtoul(field[1], 0, 10));
        else {
            printf("error -1 no such request%s%s\n", unknown ? ": " : "", unknown ? unknown : "");
            fflush(stdout);
        }
    }
    return 0;
}
