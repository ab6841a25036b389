// Written by `make ui-types` from the OpenAPI document of the backend. Changes belong there.
/* eslint-disable */

export interface paths {
    "/api/v1/alert-rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Rules
         * @description When somebody is to be told. Filters: id, job_id, name (a part of it), kind, webhook_id, enabled.
         */
        get: operations["list_alert_rules"];
        put?: never;
        /**
         * Create Rule
         * @description Make a rule, for one job or for all. It is held against them every few seconds.
         */
        post: operations["create_alert_rule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alert-rules/{rule_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Rule
         * @description One rule, with its ETag.
         */
        get: operations["get_alert_rule"];
        put?: never;
        post?: never;
        /**
         * Delete Rule
         * @description Delete a rule. Alerts of it that fire are over; what it has found stays to be read.
         */
        delete: operations["delete_alert_rule"];
        options?: never;
        head?: never;
        /**
         * Change Rule
         * @description Change a rule. What it is about (its kind and its job) stays; alerts that it does not call for any more are over soon.
         */
        patch: operations["update_alert_rule"];
        trace?: never;
    };
    "/api/v1/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Alerts
         * @description What rules have found, newest first. Filters: id, job_id, rule_id, kind, state.
         */
        get: operations["list_alerts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/alerts/{alert_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Alert
         * @description One alert: since when, until when, and why.
         */
        get: operations["get_alert"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description Files of user code. Filters: id, digest, name, q (part of the name).
         */
        get: operations["list_artifacts"];
        put?: never;
        /**
         * Upload
         * @description Upload a file of user code. The same content uploaded again is the same artifact (answered with 200).
         */
        post: operations["upload_artifact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts/{artifact_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get
         * @description One file of user code, without its content.
         */
        get: operations["get_artifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts/{artifact_id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download
         * @description The file.
         */
        get: operations["download_artifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Audit
         * @description Who has changed what, the newest first. Filters: id, user_name, action, resource, resource_id.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Checkpoints
         * @description Checkpoints and savepoints. Filters: `job_id`, `run_id`, `number`, `state`, `trigger`, `is_savepoint`, `pinned`,
         *     `kept` (completed, and its files are there).
         */
        get: operations["list_checkpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/checkpoints/{checkpoint_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Checkpoint
         * @description One checkpoint, with what each subtask measured and who was slow. The ETag is that of its pin.
         */
        get: operations["get_checkpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Pin Checkpoint
         * @description Pin a checkpoint, so that it is kept however old it gets; or let go of it. A worker writes it into the job's log: from then on,
         *     as `pin_in_force` says, a driver that runs keeps it, too. Until then the driver may retire it.
         */
        patch: operations["pin_checkpoint"];
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Events
         * @description The log of all jobs. Filters: `job_id`, `run_id`, `kind`.
         */
        get: operations["list_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description All jobs, with their newest run and their last checkpoint. Filters: id, name, q (part of the name), desired_state, needs_person (true: nothing
         *     goes on with it until somebody has looked).
         */
        get: operations["list_jobs"];
        put?: never;
        /**
         * Create
         * @description Deploy a job: its code is compiled, then it is started. `operation` tells how far that is.
         */
        post: operations["create_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get
         * @description One job.
         */
        get: operations["get_job"];
        put?: never;
        post?: never;
        /**
         * Delete
         * @description Forget a job that does not run. Its checkpoints and its output stay where they are; the logs of its runs are removed soon.
         */
        delete: operations["delete_job"];
        options?: never;
        head?: never;
        /**
         * Change
         * @description Change what is said about a job. What it runs is changed by a new version of its spec.
         */
        patch: operations["update_job"];
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel
         * @description Stop it at once, without a last checkpoint: started again, it repeats what came after the newest one.
         */
        post: operations["cancel_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Checkpoint
         * @description Take a checkpoint now, not when the next one is due. The operation's result has its number.
         */
        post: operations["take_checkpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/checkpoints/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete
         * @description Delete a checkpoint or savepoint (`number`: its id in the job's log) of a job that does not run. Refused for one that is pinned, that a
         *     plan refers to, or that the job would go on with. Asked for again while it is under way, the same operation is answered.
         */
        delete: operations["delete_checkpoint"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/checkpoints/{number}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify
         * @description Read all files of a checkpoint (`number`: its id in the job's log) and compare them with what was written. The operation's result says
         *     whether it is `whole`, and the checkpoint what its `damage` is. It is also done from time to time by itself.
         */
        post: operations["verify_checkpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/checkpoints/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Checkpoint Series
         * @description How the last completed ones went, oldest first, in all and by part of the job: which chain, and with `chain` which subtask, took how long
         *     to be reached by barriers, to align them, and for its snapshot.
         */
        get: operations["get_checkpoint_series"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/checkpoints/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Checkpoint Summary
         * @description How many there are, how long the last ones took, and the newest of each kind.
         */
        get: operations["get_checkpoint_summary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow Job
         * @description What happens to a job, as it happens: server-sent events.
         *
         *     `event`: an entry of the log (as `GET /events` has it), with its number as id, none left out and none twice; from `Last-Event-ID` or
         *     `after` on, without either from now on. `progress`: the checkpoint in progress, at most ten times a second. `run`: the newest run,
         *     when it changes. The stream ends after some minutes: come again with the last id. It ends with `closed` (a problem of status 401) as soon
         *     as the token is not valid any more. There are only so many streams for one user: 429.
         */
        get: operations["follow_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/failures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Failures
         * @description The history of exceptions of a job, newest first. Filters: `run_id`, `kind`, `recovery`.
         */
        get: operations["list_failures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Job Metrics
         * @description Throughput, use of time and memory of each subtask and slot, as series.
         */
        get: operations["get_job_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Propose
         * @description Compute what a rollback, a restore from elsewhere, an undo, an upgrade or a rescale would do. Nothing is done yet; a worker looks
         *     into checkpoint storage and completes the preview. A dry run (answered with 200) is shown and not kept.
         */
        post: operations["propose_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/savepoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Savepoint
         * @description Take a checkpoint that is kept until somebody deletes it. The operation's result has its number.
         */
        post: operations["take_savepoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/specs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Specs
         * @description All versions of a job's spec, newest first.
         */
        get: operations["list_specs"];
        put?: never;
        /**
         * Add Spec
         * @description A new version. It is compiled at once, and runs once an upgrade to it is applied.
         */
        post: operations["add_spec"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/specs/{before}/diff/{after}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Diff
         * @description What differs between two versions: settings, code, operators.
         */
        get: operations["diff_specs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/specs/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Spec
         * @description One version.
         */
        get: operations["get_spec"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/specs/{number}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Graph
         * @description The graph that the code of this version makes: logical and physical.
         */
        get: operations["get_spec_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start
         * @description Run it, from its newest checkpoint if there is one. Also ends the waiting of a job that has failed.
         */
        post: operations["start_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suspend
         * @description Stop it with a last checkpoint, from which it goes on when it is started.
         */
        post: operations["suspend_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/metrics/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Job Rates
         * @description What jobs do just now: throughput, lag, backpressure. Jobs that do not run, or have not told anything for half a minute, are left out.
         */
        get: operations["get_job_rates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description What was asked for, newest first. Filters: id, job_id.
         */
        get: operations["list_operations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/operations/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get
         * @description One operation, with its steps so far. It is over once `ended_at` is set.
         */
        get: operations["get_operation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description Plans, newest first. Filters: id, job_id, state.
         */
        get: operations["list_plans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get
         * @description One plan. Its preview is complete once `preview.inspection` is there.
         */
        get: operations["get_plan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan_id}/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply
         * @description Carry out an approved plan. Refused if the job has changed since it was made.
         */
        post: operations["apply_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve
         * @description Agree to exactly what the plan says. A plan that goes back needs the permission `rollback`.
         */
        post: operations["approve_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan_id}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Withdraw
         * @description Put a plan aside that was not applied.
         */
        post: operations["withdraw_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Runs
         * @description Runs with their generations. Filters: `job_id`, `state` (as the run told it last: one of which nothing is heard is shown as RECONCILING).
         */
        get: operations["list_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Run
         * @description One run.
         */
        get: operations["get_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Wait For Commands
         * @description Commands of the run above `after`: at once if there are any, else as soon as there is one; none after `wait_s`.
         */
        get: operations["wait_for_commands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Post Events
         * @description Store a batch of events. What is known already is passed over, so a batch may be sent again, whole or in other pieces.
         *
         *     409: events before this batch are missing; `stored` says what there is. 410: the control plane has taken the job from this run, or the
         *     run has told that it is over, and more than that.
         */
        post: operations["post_events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Run Graph
         * @description What the run deployed last: the physical graph, with the logical one in it.
         */
        get: operations["get_run_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read
         * @description A piece of what the run's driver has said, at most 256 KiB.
         */
        get: operations["read_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Session
         * @description Who is calling, and what he may do with this token.
         */
        get: operations["get_session"];
        put?: never;
        /**
         * Create Session
         * @description Log in with name and password. The token comes in the answer, for programs, and as a cookie, for browsers; it lasts 12 hours.
         */
        post: operations["create_session"];
        /**
         * Delete Session
         * @description Log out: the token is not valid any more, the cookie is cleared.
         */
        delete: operations["delete_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/oidc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Begin Oidc Session
         * @description Log in by OpenID Connect: a browser is sent to the provider.
         */
        get: operations["begin_oidc_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/oidc/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finish Oidc Session
         * @description Where the provider sends the browser back to. Who is confirmed has a session, and an account from the first time on.
         */
        get: operations["finish_oidc_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change Own Password
         * @description Change one's own password. All other sessions of the user end; tokens for programs go on.
         */
        put: operations["change_own_password"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/visit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Visit
         * @description What a page asks before anything else: who is logged in, if somebody is, and how one can log in. For everybody; a token that is not
         *     valid is as good as none.
         */
        get: operations["get_visit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow Jobs
         * @description All jobs, as they change: server-sent events `job` with a summary, first of each job there is, then of those that change,
         *     each at most twice a second. It ends as that of one job does.
         */
        get: operations["follow_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tokens
         * @description One's own tokens and sessions; an administrator gets those of others by the filter user_id, all with everybody (true). Further
         *     filters: id, name (a part of it), kind, live.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Create Token
         * @description Make a token for a program. It is shown in this answer, and never again.
         */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Token
         * @description One of one's own tokens; for administrators anybody's.
         */
        get: operations["get_token"];
        put?: never;
        post?: never;
        /**
         * Revoke Token
         * @description Revoke one of one's own tokens, or, as an administrator, anybody's. It is refused from now on.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Users
         * @description All accounts. Filters: id, name (a part of it), role, rollback, disabled.
         */
        get: operations["list_users"];
        put?: never;
        /**
         * Create User
         * @description Make an account.
         */
        post: operations["create_user"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get User
         * @description One account, with its ETag.
         */
        get: operations["get_user"];
        put?: never;
        post?: never;
        /**
         * Delete User
         * @description Delete an account and its tokens. What it did stays in the audit. If-Match may be given.
         */
        delete: operations["delete_user"];
        options?: never;
        head?: never;
        /**
         * Change User
         * @description Change role, rollback, disabled or password. A role that is taken away, or a disabled account, counts at once, for all its tokens;
         *     with a new password all sessions of the user end.
         */
        patch: operations["change_user"];
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List
         * @description Where messages about alerts go. Filters: id, name (a part of it), enabled.
         */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Create
         * @description Make a webhook. Rules name it; `test` tells whether it works.
         */
        post: operations["create_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get
         * @description One webhook, with its ETag.
         */
        get: operations["get_webhook"];
        put?: never;
        post?: never;
        /**
         * Delete
         * @description Delete a webhook that no rule names, with the list of its deliveries.
         */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        /**
         * Change
         * @description Change a webhook. Messages that wait are sent to where it points then.
         */
        patch: operations["update_webhook"];
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Deliveries
         * @description Messages to a webhook, newest first, and what came of them. Filters: id, alert_id, about, state.
         */
        get: operations["list_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Delivery
         * @description One message. It is over once `ended_at` is set.
         */
        get: operations["get_delivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test
         * @description Have a worker send a message now, also if the webhook is switched off. The delivery, at `Location`, tells what came of it: look
         *     until `ended_at` is set.
         */
        post: operations["test_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alive
         * @description The process serves.
         */
        get: operations["alive_healthz_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get Metrics
         * @description All jobs, for Prometheus. It needs a token that may view.
         */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ready
         * @description The database is there, with the schema of this version: as it was a second ago at most.
         */
        get: operations["ready_readyz_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AlertKind
         * @enum {string}
         */
        AlertKind: "no-checkpoint" | "failures" | "lag" | "restarts";
        /**
         * AlertShown
         * @description A rule that holds for a job, or did. `rule_id` null: the rule has been deleted since. `resolution`: why it is over.
         */
        AlertShown: {
            /** Id */
            id: number;
            /** Job Id */
            job_id: number;
            kind: components["schemas"]["AlertKind"];
            /** Message */
            message: string;
            /** Resolution */
            resolution: string | null;
            /** Resolved At */
            resolved_at: string | null;
            /** Rule Id */
            rule_id: number | null;
            /** Rule Name */
            rule_name: string;
            /**
             * Since
             * Format: date-time
             */
            since: string;
            state: components["schemas"]["AlertState"];
        };
        /**
         * AlertState
         * @enum {string}
         */
        AlertState: "FIRING" | "RESOLVED";
        /**
         * AlignmentBody
         * @description Alignment here is aligned: nothing is persisted, and what was buffered or processed meanwhile is not counted.
         */
        AlignmentBody: {
            /** Buffered */
            buffered?: number | null;
            /** Duration */
            duration: number;
            /**
             * Persisted
             * @default 0
             */
            persisted?: number;
            /** Processed */
            processed?: number | null;
        };
        /**
         * ArtifactKind
         * @enum {string}
         */
        ArtifactKind: "py" | "zip" | "whl";
        /**
         * ArtifactShown
         * @description ``digest``: SHA-256 of the content, hexadecimal. ``size`` in bytes. ``uploaded_at``: last; what no job uses is removed some days
         *     after that.
         */
        ArtifactShown: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: number | null;
            /** Digest */
            digest: string;
            /** Id */
            id: number;
            kind: components["schemas"]["ArtifactKind"];
            /** Name */
            name: string;
            /** Size */
            size: number;
            /**
             * Uploaded At
             * Format: date-time
             */
            uploaded_at: string;
        };
        /**
         * AuditEntryView
         * @description ``user_name``: as it was then, ``weir`` for the platform itself. ``before``, ``after``: what has changed.
         */
        AuditEntryView: {
            /** Action */
            action: string;
            /** Address */
            address: string | null;
            /** After */
            after: {
                [key: string]: unknown;
            } | null;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Before */
            before: {
                [key: string]: unknown;
            } | null;
            /** Id */
            id: number;
            /** Request Id */
            request_id: string | null;
            /** Resource */
            resource: string;
            /** Resource Id */
            resource_id: number | null;
            /** Token Id */
            token_id: number | null;
            /** User Id */
            user_id: number | null;
            /** User Name */
            user_name: string;
        };
        /**
         * BackpressureLevel
         * @enum {string}
         */
        BackpressureLevel: "ok" | "low" | "high";
        /**
         * ChainStatisticsBody
         * @description Of operators that run in one subtask. ``operators`` is empty if the graph of the run is not known.
         */
        ChainStatisticsBody: {
            /** Chain */
            chain: number;
            /** Num Subtasks */
            num_subtasks: number;
            /** Operators */
            operators: components["schemas"]["OperatorNameBody"][];
            /** Subtasks */
            subtasks: components["schemas"]["SubtaskBody"][];
            summary: components["schemas"]["MeasuredBody"];
        };
        /**
         * Change
         * @description ``path``: of the field, with dots. ``before`` or ``after`` None: it was not there, or is not any more.
         */
        Change: {
            /** After */
            after: unknown;
            /** Before */
            before: unknown;
            /** Path */
            path: string;
        };
        /**
         * CheckpointBody
         * @description ``number``: its id in the job's log. ``parent``: number of the one it goes on from. ``state_bytes``: of all files that it needs;
         *     ``checkpointed_bytes``: of those that it wrote itself. ``version``: of its pin, for If-Match.
         *     ``pin_in_force``: the job's log says that it is
         *     pinned, so nobody retires it. ``leaving_at``: it is being deleted. ``discarded_at``: it was found retired, and its files are gone.
         *     ``damage``: what reading its files has found, at ``verified_at``.
         */
        CheckpointBody: {
            /** Acknowledged */
            acknowledged: number;
            /** Checkpointed Bytes */
            checkpointed_bytes: number | null;
            /** Completed At */
            completed_at: string | null;
            /** Damage */
            damage: string | null;
            /** Discarded At */
            discarded_at: string | null;
            /** End To End Ms */
            end_to_end_ms: number | null;
            /** Failed At */
            failed_at: string | null;
            /** Failure */
            failure: string | null;
            /** Generation */
            generation: number;
            /** Id */
            id: number;
            /** Is Savepoint */
            is_savepoint: boolean;
            /** Job Id */
            job_id: number;
            /** Latest Ack At */
            latest_ack_at: string | null;
            /** Leaving At */
            leaving_at: string | null;
            /** Number */
            number: number;
            /** Parent */
            parent: number | null;
            /** Pin In Force */
            pin_in_force: boolean;
            /** Pinned */
            pinned: boolean;
            /** Pinned Reason */
            pinned_reason: string;
            /** Run Id */
            run_id: number;
            state: components["schemas"]["CheckpointState"];
            /** State Bytes */
            state_bytes: number | null;
            /** Subtasks */
            subtasks: number;
            /** Trigger */
            trigger: string;
            /**
             * Triggered At
             * Format: date-time
             */
            triggered_at: string;
            /** Verified At */
            verified_at: string | null;
            /** Version */
            version: number;
        };
        /** CheckpointBrief */
        CheckpointBrief: {
            /**
             * Completed At
             * Format: date-time
             */
            completed_at: string;
            /** End To End Ms */
            end_to_end_ms: number | null;
            /** Id */
            id: number;
            /** Is Savepoint */
            is_savepoint: boolean;
            /** Number */
            number: number;
            /** State Bytes */
            state_bytes: number | null;
        };
        /**
         * CheckpointDetailBody
         * @description ``progress``: `[chain, index, after_ms]` of each acknowledgement in its order, so that it can be played again.
         */
        CheckpointDetailBody: {
            /** Acknowledged */
            acknowledged: number;
            /** Checkpointed Bytes */
            checkpointed_bytes: number | null;
            /** Completed At */
            completed_at: string | null;
            /** Damage */
            damage: string | null;
            /** Discarded At */
            discarded_at: string | null;
            /** End To End Ms */
            end_to_end_ms: number | null;
            /** Failed At */
            failed_at: string | null;
            /** Failure */
            failure: string | null;
            /** Generation */
            generation: number;
            /** Id */
            id: number;
            /** Is Savepoint */
            is_savepoint: boolean;
            /** Job Id */
            job_id: number;
            /** Latest Ack At */
            latest_ack_at: string | null;
            /** Leaving At */
            leaving_at: string | null;
            /** Number */
            number: number;
            /** Parent */
            parent: number | null;
            /** Pin In Force */
            pin_in_force: boolean;
            /** Pinned */
            pinned: boolean;
            /** Pinned Reason */
            pinned_reason: string;
            /** Progress */
            progress: number[][];
            /** Run Id */
            run_id: number;
            state: components["schemas"]["CheckpointState"];
            /** State Bytes */
            state_bytes: number | null;
            statistics: components["schemas"]["CheckpointStatisticsBody"];
            /** Subtasks */
            subtasks: number;
            /** Trigger */
            trigger: string;
            /**
             * Triggered At
             * Format: date-time
             */
            triggered_at: string;
            /** Verified At */
            verified_at: string | null;
            /** Version */
            version: number;
        };
        /**
         * Checkpointing
         * @description ``timeout``: a checkpoint that takes longer has failed. ``min_pause``: from the end of one to the beginning of the next, unless somebody
         *     asks for it. ``tolerable_failed_checkpoints``: so many may fail in a row, after one more the job recovers as from a failure; None: any
         *     number. ``directory`` None: one of the installation's own for this job.
         */
        Checkpointing: {
            /** Directory */
            directory?: string | null;
            /**
             * Interval
             * @default 10s
             */
            interval?: string;
            /**
             * Min Pause
             * @default 0s
             */
            min_pause?: string;
            /**
             * Retained
             * @default 3
             */
            retained?: number;
            /** Staging Directory */
            staging_directory?: string | null;
            /**
             * Timeout
             * @default 10m
             */
            timeout?: string;
            /**
             * Tolerable Failed Checkpoints
             * @default 3
             */
            tolerable_failed_checkpoints?: number | null;
        };
        /**
         * CheckpointPatch
         * @description Retention never takes a pinned one, once that is in force.
         */
        CheckpointPatch: {
            /** Pinned */
            pinned: boolean;
            /**
             * Reason
             * @default
             */
            reason?: string;
        };
        /**
         * CheckpointPointBody
         * @description Of a completed one. ``start_delay_ms`` and the like: of the subtask that took longest; null where nothing was measured.
         */
        CheckpointPointBody: {
            /** Alignment Ms */
            alignment_ms: number | null;
            /** Async Ms */
            async_ms: number | null;
            /** Checkpointed Bytes */
            checkpointed_bytes: number | null;
            /** End To End Ms */
            end_to_end_ms: number | null;
            /** Id */
            id: number;
            /** Is Savepoint */
            is_savepoint: boolean;
            /** Number */
            number: number;
            /** Start Delay Ms */
            start_delay_ms: number | null;
            /** State Bytes */
            state_bytes: number | null;
            /** Sync Ms */
            sync_ms: number | null;
            /**
             * Triggered At
             * Format: date-time
             */
            triggered_at: string;
        };
        /**
         * CheckpointSeriesBody
         * @description ``checkpoints``: oldest first. ``parts``: of the graph that the newest of them was taken with.
         */
        CheckpointSeriesBody: {
            /** Checkpoints */
            checkpoints: components["schemas"]["CheckpointPointBody"][];
            /** Parts */
            parts: components["schemas"]["PartSeriesBody"][];
        };
        /**
         * CheckpointState
         * @enum {string}
         */
        CheckpointState: "IN_PROGRESS" | "COMPLETED" | "FAILED";
        /**
         * CheckpointStatisticsBody
         * @description ``state_size``: of all files that it needs; ``checkpointed_size``: of those that it wrote itself. ``external_path``: of its manifest,
         *     once it is completed; without what may be a secret in the address of a storage.
         */
        CheckpointStatisticsBody: {
            /** Alignment Buffered */
            alignment_buffered?: number | null;
            /** Chains */
            chains: components["schemas"]["ChainStatisticsBody"][];
            /** Checkpointed Size */
            checkpointed_size: number | null;
            /** Discarded */
            discarded: boolean;
            /** End To End Duration */
            end_to_end_duration: number | null;
            /** External Path */
            external_path: string | null;
            /** Failure Message */
            failure_message: string | null;
            /** Failure Timestamp */
            failure_timestamp: number | null;
            /** Id */
            id: number;
            /** Is Savepoint */
            is_savepoint: boolean;
            /** Latest Ack Timestamp */
            latest_ack_timestamp: number | null;
            /** Num Acknowledged Subtasks */
            num_acknowledged_subtasks: number;
            /** Num Subtasks */
            num_subtasks: number;
            /**
             * Persisted Data
             * @default 0
             */
            persisted_data?: number;
            /** Processed Data */
            processed_data?: number | null;
            /** State Size */
            state_size: number | null;
            status: components["schemas"]["CheckpointState"];
            summary: components["schemas"]["MeasuredBody"];
            /** Trigger Timestamp */
            trigger_timestamp: number;
        };
        /** CountsBody */
        CountsBody: {
            /** Completed */
            completed: number;
            /** Failed */
            failed: number;
            /** In Progress */
            in_progress: number;
            /** Savepoints */
            savepoints: number;
            /** Total */
            total: number;
        };
        /**
         * CreatedSession
         * @description ``token``: shown here and never again.
         */
        CreatedSession: {
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
            /** Has Password */
            has_password: boolean;
            /** Name */
            name: string;
            /** Permissions */
            permissions: components["schemas"]["Permission"][];
            role: components["schemas"]["Role"];
            /** Rollback */
            rollback: boolean;
            /** Token */
            token: string;
            /** Token Id */
            token_id: number;
            token_kind: components["schemas"]["TokenKind"];
            /** User Id */
            user_id: number;
        };
        /**
         * CreatedToken
         * @description ``token``: shown here and never again.
         */
        CreatedToken: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
            /** Id */
            id: number;
            kind: components["schemas"]["TokenKind"];
            /** Last Used At */
            last_used_at: string | null;
            /** Name */
            name: string;
            /** Revoked At */
            revoked_at: string | null;
            role: components["schemas"]["Role"];
            /** Rollback */
            rollback: boolean;
            /** Token */
            token: string;
            /** User Id */
            user_id: number;
        };
        /**
         * DeliveryShown
         * @description A message. `message_id`: what its receiver knows it by. `problem` and `status` (of HTTP): of the last try; `status` null: it was not
         *     answered. It is over once `ended_at` is set. `alert_id` null: of a test.
         */
        DeliveryShown: {
            about: components["schemas"]["MessageAbout"];
            /** Alert Id */
            alert_id: number | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Ended At */
            ended_at: string | null;
            /** Id */
            id: number;
            /**
             * Message Id
             * Format: uuid
             */
            message_id: string;
            /**
             * Next Try At
             * Format: date-time
             */
            next_try_at: string;
            /** Problem */
            problem: string | null;
            state: components["schemas"]["DeliveryState"];
            /** Status */
            status: number | null;
            /** Tries */
            tries: number;
            /** Webhook Id */
            webhook_id: number;
        };
        /**
         * DeliveryState
         * @enum {string}
         */
        DeliveryState: "PENDING" | "DELIVERED" | "GIVEN_UP";
        /**
         * DesiredState
         * @enum {string}
         */
        DesiredState: "RUNNING" | "SUSPENDED" | "CANCELLED";
        /**
         * EventBody
         * @description ``number``: of the job, without holes. ``run_event`` null: the control plane itself says so.
         */
        EventBody: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Fields */
            fields: {
                [key: string]: unknown;
            };
            /** Id */
            id: number;
            /** Job Id */
            job_id: number;
            /** Kind */
            kind: string;
            /** Number */
            number: number;
            /**
             * Received At
             * Format: date-time
             */
            received_at: string;
            /** Run Event */
            run_event: number | null;
            /** Run Id */
            run_id: number | null;
        };
        /**
         * FailureBody
         * @description ``recovery``: full, restart (another driver took over) or none (the run ended); null: not known yet.
         */
        FailureBody: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Downtime Ms */
            downtime_ms: number | null;
            /** Generation */
            generation: number;
            /** Id */
            id: number;
            /** Job Id */
            job_id: number;
            /** Kind */
            kind: string;
            /** Reason */
            reason: string;
            /** Recovered At */
            recovered_at: string | null;
            /** Recovery */
            recovery: string | null;
            /** Run Id */
            run_id: number;
        };
        /**
         * FailuresCondition
         * @description The job has failed `count` times, or `count` checkpoints have, without a completed checkpoint in between; or it was given up, after
         *     however many failures.
         */
        FailuresCondition: {
            /** Count */
            count: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "failures";
        };
        /**
         * GraphBody
         * @description ``digest``: SHA-256 of the graph as canonical JSON. ``graph``: physical, with the logical one in it.
         */
        GraphBody: {
            /** Digest */
            digest: string;
            /** Graph */
            graph: {
                [key: string]: unknown;
            };
            /** Id */
            id: number;
        };
        /**
         * GraphShown
         * @description ``body``: the physical graph, the logical one in it, as ``weir graph --json`` prints it.
         */
        GraphShown: {
            /** Body */
            body: {
                [key: string]: unknown;
            };
            /** Id */
            id: number;
        };
        /**
         * Health
         * @enum {string}
         */
        Health: "ok" | "working" | "needs a person";
        /**
         * Inspection
         * @description What a worker found in checkpoint storage. `abandoned`: checkpoints that are left behind, and with them those that the job completes
         *     until it is stopped; `returning`: those that are shown again. `again`: those that the job goes on from without anybody knowing that what
         *     was committed with them was handed on, so it is, once more: a sink that is not revocable shows it twice.
         *     `misfit`: why the graph that is to run cannot go on with that state, by the name of an operator. `origin`: of a restore, what was
         *     found there. The plan would work if `whole` and no `misfit`.
         */
        Inspection: {
            /** Abandoned */
            abandoned: number[];
            /**
             * Again
             * @default []
             */
            again?: number[];
            /** Bytes */
            bytes: number;
            /** Damage */
            damage: string | null;
            /** Files */
            files: number;
            /** Misfit */
            misfit?: string | null;
            /** Notes */
            notes: string[];
            origin?: components["schemas"]["Origin"] | null;
            /** Returning */
            returning: number[];
            /** Sinks */
            sinks: components["schemas"]["SinkEffect"][];
            /** Sources */
            sources: components["schemas"]["SourcePosition"][];
            /** Whole */
            whole: boolean;
        };
        /**
         * JobChange
         * @description What is left out stays.
         */
        JobChange: {
            /** Description */
            description?: string | null;
            /** Labels */
            labels?: {
                [key: string]: string;
            } | null;
        };
        /**
         * JobDraft
         * @description ``start`` False: it waits until somebody starts it.
         */
        JobDraft: {
            /**
             * Comment
             * @default
             */
            comment?: string;
            /**
             * Description
             * @default
             */
            description?: string;
            /**
             * Labels
             * @default {}
             */
            labels?: {
                [key: string]: string;
            };
            /** Name */
            name: string;
            spec: components["schemas"]["SpecBody"];
            /**
             * Start
             * @default true
             */
            start?: boolean;
        };
        /**
         * JobNewsBody
         * @description ``state``: of its newest run; null without one. ``deleted``: there is no such job any more.
         */
        JobNewsBody: {
            /** Deleted */
            deleted: boolean;
            desired_state: components["schemas"]["DesiredState"];
            /** Id */
            id: number;
            last_checkpoint: components["schemas"]["LastCheckpointBody"] | null;
            /** Name */
            name: string;
            /** Run Id */
            run_id: number | null;
            state: components["schemas"]["RunState"] | null;
        };
        /**
         * JobRatesBody
         * @description What a job does just now. ``records_per_s``: that its sources read. ``lag_records``: of all sources together, ``lag_seconds``: of the
         *     one that is most behind; null where none tells it. ``backpressure``: of its worst subtask. ``at``: when a slot last told something.
         */
        JobRatesBody: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            backpressure: components["schemas"]["BackpressureLevel"] | null;
            /** Job Id */
            job_id: number;
            /** Lag Records */
            lag_records: number | null;
            /** Lag Seconds */
            lag_seconds: number | null;
            /** Records Per S */
            records_per_s: number | null;
        };
        /**
         * JobShown
         * @description ``state``: of the newest run; a job that has none yet has the state CREATED. ``version`` is that of If-Match.
         */
        JobShown: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Description */
            description: string;
            desired_state: components["schemas"]["DesiredState"];
            health: components["schemas"]["Health"];
            /** Id */
            id: number;
            /** Labels */
            labels: {
                [key: string]: string;
            };
            last_checkpoint: components["schemas"]["CheckpointBrief"] | null;
            /** Name */
            name: string;
            /** Not Before */
            not_before: string | null;
            operation: components["schemas"]["OperationShown"] | null;
            /** Restarts */
            restarts: number;
            run: components["schemas"]["RunBrief"] | null;
            /** Spec Number */
            spec_number: number;
            spec_state: components["schemas"]["SpecState"];
            state: components["schemas"]["RunState"];
            /**
             * Updated At
             * Format: date-time
             */
            updated_at: string;
            /** Version */
            version: number;
            /** Why */
            why: string;
        };
        /**
         * JobSummaryBody
         * @description ``counts``: of all that are kept. Summaries: over the last completed ones. ``latest_restore``: of the newest run that has come to run;
         *     null if that began without state.
         */
        JobSummaryBody: {
            checkpointed_size: components["schemas"]["SummaryBody"] | null;
            counts: components["schemas"]["CountsBody"];
            end_to_end_duration: components["schemas"]["SummaryBody"] | null;
            latest_completed: components["schemas"]["CheckpointBody"] | null;
            latest_failed: components["schemas"]["CheckpointBody"] | null;
            latest_restore: components["schemas"]["RestoreBody"] | null;
            latest_savepoint: components["schemas"]["CheckpointBody"] | null;
            /** Over */
            over: number;
            state_size: components["schemas"]["SummaryBody"] | null;
        };
        /**
         * LagCondition
         * @description A source (`source`: its uid; null: any) tells by the gauge `lag_records` or `lag_seconds` that it is further behind than this, now and
         *     a minute ago. At least one of both limits.
         */
        LagCondition: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "lag";
            /** Records */
            records?: number | null;
            /** Seconds */
            seconds?: number | null;
            /** Source */
            source?: string | null;
        };
        /** LastCheckpointBody */
        LastCheckpointBody: {
            /**
             * Completed At
             * Format: date-time
             */
            completed_at: string;
            /** End To End Ms */
            end_to_end_ms: number | null;
            /** Id */
            id: number;
            /** Number */
            number: number;
            /** State Bytes */
            state_bytes: number | null;
        };
        /** Login */
        Login: {
            /**
             * Name
             * @example alice
             */
            name: string;
            /**
             * Password
             * Format: password
             */
            password: string;
        };
        /**
         * MeasuredBody
         * @description Summaries over subtasks; null where nothing was measured.
         */
        MeasuredBody: {
            alignment: components["schemas"]["SummaryBody"] | null;
            async: components["schemas"]["SummaryBody"] | null;
            end_to_end_duration: components["schemas"]["SummaryBody"] | null;
            start_delay: components["schemas"]["SummaryBody"] | null;
            state_size: components["schemas"]["SummaryBody"] | null;
            sync: components["schemas"]["SummaryBody"] | null;
        };
        /**
         * MessageAbout
         * @description What a message to a webhook tells.
         * @enum {string}
         */
        MessageAbout: "FIRING" | "RESOLVED" | "TEST";
        /**
         * MetricsBody
         * @description ``step_s``: the distance of points; wider than asked for where there would be too many.
         */
        MetricsBody: {
            /**
             * Since
             * Format: date-time
             */
            since: string;
            /** Slots */
            slots: components["schemas"]["SlotSeriesBody"][];
            /** Step S */
            step_s: number;
            /** Subtasks */
            subtasks: components["schemas"]["SubtaskSeriesBody"][];
            /**
             * Until
             * Format: date-time
             */
            until: string;
        };
        /**
         * NewToken
         * @description ``role`` and ``rollback``: no more than whoever makes it has.
         */
        NewToken: {
            /** Expires In Days */
            expires_in_days: number;
            /**
             * Name
             * @example deployments from CI
             */
            name: string;
            role: components["schemas"]["Role"];
            /**
             * Rollback
             * @default false
             */
            rollback?: boolean;
        };
        /**
         * NewUser
         * @description ``rollback``: may approve and apply plans that abandon what was committed. Without a password he cannot log in until he is given one.
         */
        NewUser: {
            /**
             * Name
             * @example alice
             */
            name: string;
            /** Password */
            password?: string | null;
            role: components["schemas"]["Role"];
            /**
             * Rollback
             * @default false
             */
            rollback?: boolean;
        };
        /**
         * NoCheckpointCondition
         * @description No checkpoint has completed for `minutes`, or for two of the job's own intervals if that is longer. Not of jobs that are stopped or
         *     finished, that were started later than that, or that take no checkpoints by themselves; nor while the control plane itself has not
         *     been there for as long.
         */
        NoCheckpointCondition: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "no-checkpoint";
            /** Minutes */
            minutes: number;
        };
        /**
         * OidcView
         * @description A provider of OpenID Connect. ``name``: what people know it by. ``begin``: where a browser goes to log in, a path of this server.
         */
        OidcView: {
            /** Begin */
            begin: string;
            /** Name */
            name: string;
        };
        /**
         * OperationKind
         * @enum {string}
         */
        OperationKind: "deploy" | "start" | "suspend" | "cancel" | "savepoint" | "checkpoint" | "verify" | "apply-plan" | "delete";
        /**
         * OperationShown
         * @description Something that takes its time. ``steps``: what was done so far; ``problem``: why it failed.
         */
        OperationShown: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: number | null;
            /**
             * Deadline At
             * Format: date-time
             */
            deadline_at: string;
            /** Ended At */
            ended_at: string | null;
            /** Id */
            id: number;
            /** Job Id */
            job_id: number;
            kind: components["schemas"]["OperationKind"];
            /** Problem */
            problem: string | null;
            /** Request */
            request: {
                [key: string]: unknown;
            };
            /** Result */
            result: {
                [key: string]: unknown;
            } | null;
            state: components["schemas"]["OperationState"];
            /** Steps */
            steps: unknown[];
        };
        /**
         * OperationState
         * @enum {string}
         */
        OperationState: "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "ABANDONED";
        /** OperatorNameBody */
        OperatorNameBody: {
            /** Name */
            name: string;
            /** Uid */
            uid: string;
        };
        /**
         * Origin
         * @description A checkpoint elsewhere: number `checkpoint` of the job that its log calls `job`.
         */
        Origin: {
            /** Checkpoint */
            checkpoint: number;
            /**
             * Completed At
             * Format: date-time
             */
            completed_at: string;
            /** Is Savepoint */
            is_savepoint: boolean;
            /** Job */
            job: string;
            /** State Bytes */
            state_bytes: number;
        };
        /**
         * PartSeriesBody
         * @description Of a subtask, or of the slowest subtask of a chain (``index`` null): a value for each checkpoint. Null: not measured, or with another graph.
         */
        PartSeriesBody: {
            /** Alignment Ms */
            alignment_ms: (number | null)[];
            /** Async Ms */
            async_ms: (number | null)[];
            /** Chain */
            chain: number;
            /** Index */
            index: number | null;
            /** Operators */
            operators: components["schemas"]["OperatorNameBody"][];
            /** Start Delay Ms */
            start_delay_ms: (number | null)[];
            /** Sync Ms */
            sync_ms: (number | null)[];
        };
        /** PasswordChange */
        PasswordChange: {
            /**
             * New Password
             * Format: password
             * @description At least 12 characters
             */
            new_password: string;
            /**
             * Old Password
             * Format: password
             */
            old_password: string;
        };
        /**
         * Permission
         * @enum {string}
         */
        Permission: "view" | "operate" | "rollback" | "administer";
        /** PhasesBody */
        PhasesBody: {
            /** Async */
            async: number;
            /** Sync */
            sync: number;
        };
        /**
         * PlanDraft
         * @description `dry_run`: show what would happen, and keep nothing.
         */
        PlanDraft: {
            /**
             * Dry Run
             * @default false
             */
            dry_run?: boolean;
            /** Request */
            request: components["schemas"]["RollbackRequest"] | components["schemas"]["RestoreRequest"] | components["schemas"]["UndoRequest"] | components["schemas"]["UpgradeRequest"] | components["schemas"]["RescaleRequest"];
        };
        /**
         * PlanKind
         * @enum {string}
         */
        PlanKind: "restore" | "rollback" | "undo" | "upgrade" | "rescale";
        /**
         * PlanPhase
         * @description Where a plan that is being applied has got to.
         * @enum {string}
         */
        PlanPhase: "VERIFYING" | "STOPPING" | "STARTING" | "RETURNING";
        /** PlanShown */
        PlanShown: {
            /** Approved At */
            approved_at: string | null;
            /** Approved By */
            approved_by: number | null;
            /** Created At */
            created_at: string | null;
            /** Created By */
            created_by: number | null;
            /** Ended At */
            ended_at: string | null;
            /** Id */
            id: number | null;
            /** Job Id */
            job_id: number;
            /** Job Version */
            job_version: number;
            kind: components["schemas"]["PlanKind"];
            /** Operation Id */
            operation_id: number | null;
            phase: components["schemas"]["PlanPhase"] | null;
            preview: components["schemas"]["Preview"];
            /** Problem */
            problem: string | null;
            /** Request */
            request: {
                [key: string]: unknown;
            };
            /** Safety Checkpoint */
            safety_checkpoint: number | null;
            state: components["schemas"]["PlanState"];
            /** Undo Of */
            undo_of: number | null;
        };
        /**
         * PlanState
         * @enum {string}
         */
        PlanState: "PROPOSED" | "APPROVED" | "APPLYING" | "APPLIED" | "FAILED" | "WITHDRAWN";
        /**
         * Preview
         * @description `checkpoint`: the one that the job will go on from; None: the one that it is stopped with, unless `origin`, the path of one that is
         *     elsewhere, or `anew` (without any state) says otherwise. `age_s`: how old it was when this was
         *     computed. `restarts`: operators that begin anew: all of them, as a driver is replaced. `duplicates`: sinks whose readers will
         *     see records twice: those that were committed with `inspection.abandoned` (and until the job is stopped) and `inspection.again`; without
         *     a checkpoint to go back to, those that were committed with the one that it is stopped with.
         */
        Preview: {
            /** Age S */
            age_s: number | null;
            /**
             * Anew
             * @default false
             */
            anew?: boolean;
            /** Checkpoint */
            checkpoint: number | null;
            /** Completed At */
            completed_at: string | null;
            /** Duplicates */
            duplicates: string[];
            inspection: components["schemas"]["Inspection"] | null;
            /** Is Savepoint */
            is_savepoint: boolean;
            /** Origin */
            origin?: string | null;
            /** Restarts */
            restarts: string[];
            /** State Bytes */
            state_bytes: number | null;
            /** Steps */
            steps: string[];
            /** Stop With */
            stop_with: string;
            /** Warnings */
            warnings: string[];
        };
        /**
         * ProblemBody
         * @description RFC 9457, with a code for programs and a next step for people.
         */
        ProblemBody: {
            /** Code */
            code: string;
            /** Detail */
            detail: string;
            /**
             * Next Step
             * @default
             */
            next_step?: string;
            /** Status */
            status: number;
            /** Title */
            title: string;
            /** Type */
            type: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * ProgressBody
         * @description Of the checkpoint that is in progress. ``progress``: `[chain, index, after_ms]` of each acknowledgement so far.
         */
        ProgressBody: {
            /** Acknowledged */
            acknowledged: number;
            /** Checkpoint */
            checkpoint: number;
            /** Checkpoint Id */
            checkpoint_id: number;
            /** Progress */
            progress: number[][];
            /** Run Id */
            run_id: number;
            /** Subtasks */
            subtasks: number;
            /** Trigger */
            trigger: string;
            /**
             * Triggered At
             * Format: date-time
             */
            triggered_at: string;
        };
        /**
         * RescaleRequest
         * @description Run with another parallelism, from a last checkpoint.
         */
        RescaleRequest: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "rescale";
            /** Parallelism */
            parallelism: number;
        };
        /**
         * RestartsCondition
         * @description The job was restarted `count` times within `minutes`.
         */
        RestartsCondition: {
            /** Count */
            count: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "restarts";
            /** Minutes */
            minutes: number;
        };
        /**
         * RestartStrategy
         * @description Of the driver: each restart in a row waits longer. Slots that are lost are the runtime's own matter.
         *
         *     After ``well_after_s`` of running the next failure counts as the first.
         */
        RestartStrategy: {
            /**
             * Attempts
             * @default 10
             */
            attempts?: number;
            /**
             * Initial S
             * @default 1
             */
            initial_s?: number;
            /**
             * Max S
             * @default 60
             */
            max_s?: number;
            /**
             * Multiplier
             * @default 2
             */
            multiplier?: number;
            /**
             * Well After S
             * @default 300
             */
            well_after_s?: number;
        };
        /**
         * RestoreBody
         * @description What a run went on from, and when it ran with that. ``cause``: why the run was begun: restart, rollback, ... ``checkpoint``: number of
         *     one of the job; ``is_savepoint`` is null if nothing else is known of it any more. ``path``: instead of that, of one that was elsewhere.
         */
        RestoreBody: {
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Cause */
            cause: string;
            /** Checkpoint */
            checkpoint: number | null;
            /** Is Savepoint */
            is_savepoint: boolean | null;
            /** Path */
            path: string | null;
            /** Run */
            run: number;
            /** Run Id */
            run_id: number;
        };
        /**
         * RestoreRequest
         * @description Go on from a checkpoint that is somewhere else: of another job, or a copy. It is copied, and what is there is never changed. What
         *     this job has committed is taken back where the sink can. `path`: a directory of checkpoints with one job in it, or the one of a
         *     job, at a place that the installation allows. `checkpoint`: its number there; without it the newest.
         */
        RestoreRequest: {
            /** Checkpoint */
            checkpoint?: number | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "restore";
            /** Path */
            path: string;
        };
        /**
         * Role
         * @description Each may do what the one before it may.
         * @enum {string}
         */
        Role: "viewer" | "operator" | "admin";
        /**
         * RollbackRequest
         * @description Go back to a completed checkpoint or savepoint of this job. What was committed after it is taken back where the sink can.
         */
        RollbackRequest: {
            /** Checkpoint */
            checkpoint: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "rollback";
        };
        /**
         * RuleChange
         * @description What is left out stays. `condition`: of the same kind. `webhook_id` null: none any more.
         */
        RuleChange: {
            /** Condition */
            condition?: (components["schemas"]["NoCheckpointCondition"] | components["schemas"]["FailuresCondition"] | components["schemas"]["LagCondition"] | components["schemas"]["RestartsCondition"]) | null;
            /** Enabled */
            enabled?: boolean | null;
            /** Name */
            name?: string | null;
            /** Webhook Id */
            webhook_id?: number | null;
        };
        /**
         * RuleDraft
         * @description `job_id` null: for all jobs. `webhook_id` null: alerts are shown, and nobody is sent a message.
         */
        RuleDraft: {
            /** Condition */
            condition: components["schemas"]["NoCheckpointCondition"] | components["schemas"]["FailuresCondition"] | components["schemas"]["LagCondition"] | components["schemas"]["RestartsCondition"];
            /**
             * Enabled
             * @default true
             */
            enabled?: boolean;
            /** Job Id */
            job_id?: number | null;
            /** Name */
            name: string;
            /** Webhook Id */
            webhook_id?: number | null;
        };
        /** RuleShown */
        RuleShown: {
            /** Condition */
            condition: components["schemas"]["NoCheckpointCondition"] | components["schemas"]["FailuresCondition"] | components["schemas"]["LagCondition"] | components["schemas"]["RestartsCondition"];
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Enabled */
            enabled: boolean;
            /** Id */
            id: number;
            /** Job Id */
            job_id: number | null;
            /** Name */
            name: string;
            /** Version */
            version: number;
            /** Webhook Id */
            webhook_id: number | null;
        };
        /**
         * RunBody
         * @description ``number``: the generation of the control plane. ``generation``: of the runtime within the run. ``fenced_at``: when the job was
         *     taken from this run. ``missing_events``: that its driver could not send any more. ``directory``: name of its own below ``runs`` in the
         *     data directory of its host; ``files_cleared_at``: since when that is gone, with its log. ``stranded``: why no other machine goes on with
         *     the job though nothing is heard of ``host``.
         */
        RunBody: {
            /** Cause */
            cause: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Directory */
            directory: string;
            /** Ended At */
            ended_at: string | null;
            /** Fenced At */
            fenced_at: string | null;
            /** Files Cleared At */
            files_cleared_at: string | null;
            /** Generation */
            generation: number;
            /** Graph Id */
            graph_id: number | null;
            /** Host */
            host: string | null;
            /** Id */
            id: number;
            /** Job Id */
            job_id: number;
            /** Last Contact At */
            last_contact_at: string | null;
            /** Missing Events */
            missing_events: number;
            /** Number */
            number: number;
            /** Pid */
            pid: number | null;
            /** Reason */
            reason: string;
            /** Running At */
            running_at: string | null;
            /** Spec Id */
            spec_id: number;
            /** Start */
            start: {
                [key: string]: unknown;
            };
            state: components["schemas"]["RunState"];
            /** Stored Event */
            stored_event: number;
            /** Stranded */
            stranded: string | null;
            /** Submitted At */
            submitted_at: string | null;
        };
        /**
         * RunBrief
         * @description ``graph_id`` null: it has not told its graph yet, so there is none to be asked for.
         */
        RunBrief: {
            /** Cause */
            cause: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Ended At */
            ended_at: string | null;
            /** Generation */
            generation: number;
            /** Graph Id */
            graph_id: number | null;
            /** Id */
            id: number;
            /** Last Contact At */
            last_contact_at: string | null;
            /** Number */
            number: number;
            /** Reason */
            reason: string;
            /** Running At */
            running_at: string | null;
            state: components["schemas"]["RunState"];
        };
        /**
         * RunNewsBody
         * @description The newest run of the job, as far as it can change.
         */
        RunNewsBody: {
            /** Ended At */
            ended_at: string | null;
            /** Generation */
            generation: number;
            /** Id */
            id: number;
            /** Number */
            number: number;
            /** Reason */
            reason: string;
            /** Running At */
            running_at: string | null;
            state: components["schemas"]["RunState"];
        };
        /**
         * RunState
         * @description Of a run as the control plane sees it. What the driver says of itself is ``weir.protocol.events.RunState``.
         * @enum {string}
         */
        RunState: "CREATED" | "INITIALIZING" | "RUNNING" | "RESTARTING" | "FAILING" | "CANCELLING" | "RECONCILING" | "FINISHED" | "SUSPENDED" | "CANCELED" | "FAILED";
        /**
         * SessionView
         * @description Who is calling. ``permissions``: of this token, which may be fewer than the user's.
         */
        SessionView: {
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
            /** Has Password */
            has_password: boolean;
            /** Name */
            name: string;
            /** Permissions */
            permissions: components["schemas"]["Permission"][];
            role: components["schemas"]["Role"];
            /** Rollback */
            rollback: boolean;
            /** Token Id */
            token_id: number;
            token_kind: components["schemas"]["TokenKind"];
            /** User Id */
            user_id: number;
        };
        /**
         * SinkEffect
         * @description `revocable`: what is abandoned is taken back from readers. If not, they will see these records twice. `records`: of one that is not
         *     revocable, how many were committed with `abandoned` and `again` when this was looked into; null: that is not known.
         */
        SinkEffect: {
            /** Kind */
            kind: string;
            /** Records */
            records?: number | null;
            /** Revocable */
            revocable: boolean;
            /** Sink */
            sink: string;
        };
        /**
         * SlotSeriesBody
         * @description ``gauges``: what operators show (``<uid>.<name>``), among it lag where they know it. Null: not at that moment.
         */
        SlotSeriesBody: {
            /** At */
            at: string[];
            /** Gauges */
            gauges: {
                [key: string]: (number | null)[];
            };
            /** Rss Bytes */
            rss_bytes: number[];
            /** Slot */
            slot: number;
            /** Utilisation */
            utilisation: (number | null)[];
        };
        /**
         * SourcePosition
         * @description `splits`: unfinished ones, which are read again from their position; `position` as the source writes it.
         */
        SourcePosition: {
            /** Source */
            source: string;
            /** Splits */
            splits: unknown[];
        };
        /**
         * SpecBody
         * @description ``artifact``: digest of an uploaded file. ``entry``: which function makes the job: ``function`` of a .py file (default ``job``),
         *     ``package.module:function`` of an archive.
         */
        SpecBody: {
            /**
             * Allow Non Restored State
             * @default false
             */
            allow_non_restored_state?: boolean;
            /** Artifact */
            artifact: string;
            /**
             * @default {
             *       "interval": "10s",
             *       "min_pause": "0s",
             *       "retained": 3,
             *       "timeout": "10m",
             *       "tolerable_failed_checkpoints": 3
             *     }
             */
            checkpointing?: components["schemas"]["Checkpointing"];
            /**
             * Entry
             * @default job
             */
            entry?: string;
            /**
             * Master
             * @default local
             */
            master?: string;
            /**
             * Parallelism
             * @default 2
             */
            parallelism?: number;
            /**
             * Parameters
             * @default {}
             */
            parameters?: {
                [key: string]: boolean | number | string;
            };
            /**
             * @default {
             *       "attempts": 10,
             *       "initial_s": 1,
             *       "max_s": 60,
             *       "multiplier": 2,
             *       "well_after_s": 300
             *     }
             */
            restart?: components["schemas"]["RestartStrategy"];
            /**
             * Spares
             * @default 0
             */
            spares?: number;
            /**
             * Spark Conf
             * @default {}
             */
            spark_conf?: {
                [key: string]: string;
            };
        };
        /**
         * SpecDiff
         * @description From one version to another. ``code``: unified diff of the job's file, where both are text.
         */
        SpecDiff: {
            /** After */
            after: number;
            /** Before */
            before: number;
            /** Changes */
            changes: components["schemas"]["Change"][];
            /** Code */
            code: string | null;
            /** Operators Added */
            operators_added: string[];
            /** Operators Changed */
            operators_changed: string[];
            /** Operators Removed */
            operators_removed: string[];
        };
        /**
         * SpecDraft
         * @description A new version. It runs once an upgrade to it is asked for.
         */
        SpecDraft: {
            /**
             * Comment
             * @default
             */
            comment?: string;
            spec: components["schemas"]["SpecBody"];
        };
        /** SpecShown */
        SpecShown: {
            /** Artifact Id */
            artifact_id: number;
            /** Body */
            body: {
                [key: string]: unknown;
            };
            /** Comment */
            comment: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Created By */
            created_by: number | null;
            /** Graph Id */
            graph_id: number | null;
            /** Id */
            id: number;
            /** Job Id */
            job_id: number;
            /** Number */
            number: number;
            /** Problem */
            problem: string | null;
            state: components["schemas"]["SpecState"];
        };
        /**
         * SpecState
         * @description Of a version of a job's spec: user code is loaded and compiled by a worker before it may run.
         * @enum {string}
         */
        SpecState: "COMPILING" | "VALID" | "INVALID";
        /**
         * Stored
         * @description ``stored``: number of the last event of this run that is here for good.
         */
        Stored: {
            /** Stored */
            stored: number;
        };
        /**
         * SubtaskBody
         * @description ``straggler``: it took at least the 95th percentile and half as long again as the median, of all subtasks of a checkpoint that is
         *     completed.
         */
        SubtaskBody: {
            /**
             * Aborted
             * @default false
             */
            aborted?: boolean;
            /** Ack Timestamp */
            ack_timestamp: number | null;
            alignment: components["schemas"]["AlignmentBody"] | null;
            checkpoint: components["schemas"]["PhasesBody"] | null;
            /** End To End Duration */
            end_to_end_duration: number | null;
            /** Index */
            index: number;
            /** Start Delay */
            start_delay: number | null;
            /** State Size */
            state_size: number | null;
            /** Status */
            status: string;
            /**
             * Straggler
             * @default false
             */
            straggler?: boolean;
            /**
             * Unaligned Checkpoint
             * @default false
             */
            unaligned_checkpoint?: boolean;
        };
        /**
         * SubtaskSeriesBody
         * @description The four times add up to 1000 ms a second. ``operators``: that run in the subtask, if the graph is known.
         */
        SubtaskSeriesBody: {
            /** At */
            at: string[];
            /** Backpressure */
            backpressure: components["schemas"]["BackpressureLevel"][];
            /** Backpressured Ms Per S */
            backpressured_ms_per_s: number[];
            /** Busy Ms Per S */
            busy_ms_per_s: number[];
            /** Bytes In Per S */
            bytes_in_per_s: number[];
            /** Bytes Out Per S */
            bytes_out_per_s: number[];
            /** Chain */
            chain: number;
            /** Idle Ms Per S */
            idle_ms_per_s: number[];
            /** Index */
            index: number;
            /** Operators */
            operators: components["schemas"]["OperatorNameBody"][];
            /** Queued Ms Per S */
            queued_ms_per_s: number[];
            /** Records In Per S */
            records_in_per_s: number[];
            /** Records Out Per S */
            records_out_per_s: number[];
        };
        /** SummaryBody */
        SummaryBody: {
            /** Avg */
            avg: number;
            /** Max */
            max: number;
            /** Min */
            min: number;
            /** P50 */
            p50: number;
            /** P90 */
            p90: number;
            /** P95 */
            p95: number;
            /** P99 */
            p99: number;
            /** P999 */
            p999: number;
        };
        /**
         * TokenKind
         * @enum {string}
         */
        TokenKind: "api" | "session";
        /**
         * TokenView
         * @description ``last_used_at``: to the minute. Valid until it is revoked or expires.
         */
        TokenView: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Expires At
             * Format: date-time
             */
            expires_at: string;
            /** Id */
            id: number;
            kind: components["schemas"]["TokenKind"];
            /** Last Used At */
            last_used_at: string | null;
            /** Name */
            name: string;
            /** Revoked At */
            revoked_at: string | null;
            role: components["schemas"]["Role"];
            /** Rollback */
            rollback: boolean;
            /** User Id */
            user_id: number;
        };
        /**
         * UndoRequest
         * @description Return to where the job was when plan `plan` stopped it.
         */
        UndoRequest: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "undo";
            /** Plan */
            plan: number;
        };
        /**
         * UpgradeRequest
         * @description Run another version of the spec. `savepoint`: stop with a last checkpoint and go on from it. `last-state`: stop at once and go
         *     on from the last completed one. `stateless`: stop with a last checkpoint, so that it can be undone, and begin anew without any
         *     state; what was committed is taken back where the sink can, and all input is read again.
         */
        UpgradeRequest: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "upgrade";
            /**
             * Mode
             * @default savepoint
             * @enum {string}
             */
            mode?: "savepoint" | "last-state" | "stateless";
            /** Spec */
            spec: number;
        };
        /**
         * UserChange
         * @description What is not given stays as it is.
         */
        UserChange: {
            /** Disabled */
            disabled?: boolean | null;
            /** Password */
            password?: string | null;
            role?: components["schemas"]["Role"] | null;
            /** Rollback */
            rollback?: boolean | null;
        };
        /**
         * UserView
         * @description ``has_password``, ``has_oidc``: how he can log in.
         */
        UserView: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Disabled */
            disabled: boolean;
            /** Has Oidc */
            has_oidc: boolean;
            /** Has Password */
            has_password: boolean;
            /** Id */
            id: number;
            /** Name */
            name: string;
            role: components["schemas"]["Role"];
            /** Rollback */
            rollback: boolean;
            /** Version */
            version: number;
        };
        /**
         * VisitView
         * @description ``session`` null: nobody is logged in. ``oidc`` null: name and password are the only way to log in.
         */
        VisitView: {
            oidc: components["schemas"]["OidcView"] | null;
            session: components["schemas"]["SessionView"] | null;
        };
        /**
         * WebhookChange
         * @description What is left out stays. `secret_reference` null: messages are not signed any more. A webhook that is switched off gives up what it has
         *     not sent yet.
         */
        WebhookChange: {
            /** Enabled */
            enabled?: boolean | null;
            /** Name */
            name?: string | null;
            /** Secret Reference */
            secret_reference?: string | null;
            /** Url */
            url?: string | null;
        };
        /**
         * WebhookDraft
         * @description `url`: http or https, without user and password. `secret_reference`: where workers find the key that messages are signed with:
         *     `env:WEIR_WEBHOOK_KEY_OPS`, a variable of theirs, or `file:ops`, a file in their directory of keys; null: messages are not signed.
         */
        WebhookDraft: {
            /**
             * Enabled
             * @default true
             */
            enabled?: boolean;
            /** Name */
            name: string;
            /** Secret Reference */
            secret_reference?: string | null;
            /** Url */
            url: string;
        };
        /**
         * WebhookShown
         * @description `receiver`: scheme, host and port of the URL. `url`: all of it, shown to administrators only, as with some services it is as good as a
         *     password; null for everybody else.
         */
        WebhookShown: {
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Enabled */
            enabled: boolean;
            /** Id */
            id: number;
            /** Name */
            name: string;
            /** Receiver */
            receiver: string;
            /** Secret Reference */
            secret_reference: string | null;
            /** Url */
            url: string | null;
            /** Version */
            version: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_alert_rules: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    create_alert_rule: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RuleDraft"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_alert_rule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                rule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    delete_alert_rule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                rule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    update_alert_rule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                rule_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RuleChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_alerts: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_alert: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alert_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_artifacts: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    upload_artifact: {
        parameters: {
            query: {
                /** @description Its name, with .py, .zip or .whl */
                name: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The file */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description The same content is there already */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactShown"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_artifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                artifact_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    download_artifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                artifact_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_audit: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntryView"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_checkpoints: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointBody"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_checkpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the id in the list, not the number in the job */
                checkpoint_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointDetailBody"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    pin_checkpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                /** @description the id in the list, not the number in the job */
                checkpoint_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckpointPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointBody"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_events: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventBody"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    create_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobDraft"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    delete_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    update_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    take_checkpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    delete_checkpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job_id: number;
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    verify_checkpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                job_id: number;
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_checkpoint_series: {
        parameters: {
            query?: {
                /** @description `parts` are the subtasks of this one, not chains */
                chain?: number | null;
                /** @description over how many completed ones */
                last?: number;
                /** @description false: only how they went in all, as parts of a large job are many */
                parts?: boolean;
            };
            header?: never;
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointSeriesBody"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_checkpoint_summary: {
        parameters: {
            query?: {
                /** @description over how many completed ones */
                last?: number;
            };
            header?: never;
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobSummaryBody"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    follow_job: {
        parameters: {
            query?: {
                /** @description number of the last event that is known */
                after?: number | null;
            };
            header?: {
                /** @description sent by browsers when they come again; it goes before `after` */
                "last-event-id"?: number | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_failures: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailureBody"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_job_metrics: {
        parameters: {
            query?: {
                /** @description of its subtasks only: a large job has many */
                chain?: number | null;
                /** @description with a time zone; 15 minutes ago if not given */
                since?: string | null;
                /** @description distance of the points */
                step_s?: number;
            };
            header?: never;
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetricsBody"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    propose_plan: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlanDraft"];
            };
        };
        responses: {
            /** @description What would be done: a dry run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanShown"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    take_savepoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_specs: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpecShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    add_spec: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SpecDraft"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpecShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    diff_specs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                after: number;
                before: number;
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpecDiff"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_spec: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job_id: number;
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpecShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_spec_graph: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job_id: number;
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    start_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    suspend_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_job_rates: {
        parameters: {
            query?: {
                /** @description of which jobs; of the first 200 that run if not given */
                job_id?: number[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobRatesBody"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_operations: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_operation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operation_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_plans: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_plan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    apply_plan: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                plan_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    approve_plan: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                plan_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    withdraw_plan: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                plan_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunBody"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunBody"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    wait_for_commands: {
        parameters: {
            query: {
                /** @description number of the last command seen */
                after: number;
                /** @description at most 30 */
                wait_s?: number;
            };
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": [
                        number,
                        string,
                        {
                            [key: string]: unknown;
                        }
                    ][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    post_events: {
        parameters: {
            query: {
                /** @description number of the first event of the batch */
                first: number;
                /** @description number of the oldest event that could still be sent */
                oldest: number;
            };
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        /** @description Events of the run in order, without holes: `[[number, at_ms, kind, {fields}], ...]` */
        requestBody: {
            content: {
                "application/json": unknown[][];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stored"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_run_graph: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphBody"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    read_log: {
        parameters: {
            query?: {
                /** @description Bytes from the beginning; negative: from the end */
                offset?: number;
            };
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    /** @description The offset to go on with */
                    "X-Log-Next"?: number;
                    /** @description Bytes that the log has now */
                    "X-Log-Size"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    create_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedSession"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    delete_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    begin_oidc_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    finish_oidc_session: {
        parameters: {
            query?: {
                code?: string | null;
                error?: string | null;
                iss?: string | null;
                state?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    change_own_password: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_visit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VisitView"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    follow_jobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenView"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenView"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_users: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    create_user: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_user: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    delete_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                user_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    change_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                user_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookDraft"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                webhook_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                webhook_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    update_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that you have seen, for example `"7"`; `*`: whichever */
                "If-Match"?: string | null;
            };
            path: {
                webhook_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Changed meanwhile */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    list_deliveries: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`, both included, from 0 */
                range?: string | null;
                /** @description `["field","ASC"]` or `["field","DESC"]` */
                sort?: string | null;
            };
            header?: never;
            path: {
                webhook_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryShown"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    get_delivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                delivery_id: number;
                webhook_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description Of your choice, for one request: sent again with it, the request has no second effect and gets the first answer. Forgotten after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                webhook_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryShown"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    alive_healthz_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: string;
                    };
                };
            };
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
    ready_readyz_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: string;
                    };
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemBody"];
                };
            };
        };
    };
}
type FlattenedDeepRequired<T> = {
    [K in keyof T]-?: FlattenedDeepRequired<T[K] extends unknown[] | undefined | null ? Extract<T[K], unknown[]>[number] : T[K]>;
};
type ReadonlyArray<T> = [
    Exclude<T, undefined>
] extends [
    unknown[]
] ? Readonly<Exclude<T, undefined>> : Readonly<Exclude<T, undefined>[]>;
export const alertKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["AlertKind"]> = ["no-checkpoint", "failures", "lag", "restarts"];
export const alertStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["AlertState"]> = ["FIRING", "RESOLVED"];
export const artifactKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["ArtifactKind"]> = ["py", "zip", "whl"];
export const backpressureLevelValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["BackpressureLevel"]> = ["ok", "low", "high"];
export const checkpointStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["CheckpointState"]> = ["IN_PROGRESS", "COMPLETED", "FAILED"];
export const deliveryStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["DeliveryState"]> = ["PENDING", "DELIVERED", "GIVEN_UP"];
export const desiredStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["DesiredState"]> = ["RUNNING", "SUSPENDED", "CANCELLED"];
export const failuresConditionKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["FailuresCondition"]["kind"]> = ["failures"];
export const healthValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["Health"]> = ["ok", "working", "needs a person"];
export const lagConditionKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["LagCondition"]["kind"]> = ["lag"];
export const messageAboutValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["MessageAbout"]> = ["FIRING", "RESOLVED", "TEST"];
export const noCheckpointConditionKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["NoCheckpointCondition"]["kind"]> = ["no-checkpoint"];
export const operationKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["OperationKind"]> = ["deploy", "start", "suspend", "cancel", "savepoint", "checkpoint", "verify", "apply-plan", "delete"];
export const operationStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["OperationState"]> = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "ABANDONED"];
export const permissionValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["Permission"]> = ["view", "operate", "rollback", "administer"];
export const planKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["PlanKind"]> = ["restore", "rollback", "undo", "upgrade", "rescale"];
export const planPhaseValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["PlanPhase"]> = ["VERIFYING", "STOPPING", "STARTING", "RETURNING"];
export const planStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["PlanState"]> = ["PROPOSED", "APPROVED", "APPLYING", "APPLIED", "FAILED", "WITHDRAWN"];
export const rescaleRequestKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["RescaleRequest"]["kind"]> = ["rescale"];
export const restartsConditionKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["RestartsCondition"]["kind"]> = ["restarts"];
export const restoreRequestKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["RestoreRequest"]["kind"]> = ["restore"];
export const roleValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["Role"]> = ["viewer", "operator", "admin"];
export const rollbackRequestKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["RollbackRequest"]["kind"]> = ["rollback"];
export const runStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["RunState"]> = ["CREATED", "INITIALIZING", "RUNNING", "RESTARTING", "FAILING", "CANCELLING", "RECONCILING", "FINISHED", "SUSPENDED", "CANCELED", "FAILED"];
export const specStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["SpecState"]> = ["COMPILING", "VALID", "INVALID"];
export const tokenKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["TokenKind"]> = ["api", "session"];
export const undoRequestKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["UndoRequest"]["kind"]> = ["undo"];
export const upgradeRequestKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["UpgradeRequest"]["kind"]> = ["upgrade"];
export const upgradeRequestModeValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["UpgradeRequest"]["mode"]> = ["savepoint", "last-state", "stateless"];
