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
         * @description List alert rules. Filters: `id`, `job_id`, `name` (a part of it), `kind`, `webhook_id`, `enabled`.
         */
        get: operations["list_alert_rules"];
        put?: never;
        /**
         * Create Rule
         * @description Create a rule for one job or for all. Workers evaluate it every few seconds.
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
         * @description Return one rule, with its ETag.
         */
        get: operations["get_alert_rule"];
        put?: never;
        post?: never;
        /**
         * Delete Rule
         * @description Delete a rule and resolve its firing alerts. Its alerts can still be read.
         */
        delete: operations["delete_alert_rule"];
        options?: never;
        head?: never;
        /**
         * Change Rule
         * @description Update a rule, except its kind and its job. Alerts that no longer hold are resolved soon.
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
         * @description List alerts, newest first. Filters: `id`, `job_id`, `rule_id`, `kind`, `state`.
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
         * @description Return one alert: its start, its end and its reason.
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
         * @description List artifacts. Filters: `id`, `digest`, `name`, `q` (part of the name).
         */
        get: operations["list_artifacts"];
        put?: never;
        /**
         * Upload
         * @description Upload a file of user code. Uploading existing content returns the existing artifact with status 200.
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
         * @description Get an artifact, without its content.
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
         * @description Download the content of an artifact.
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
         * @description List the entries of the audit log, newest first. Filters: `id`, `user_name`, `action`, `resource`, `resource_id`.
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
         * @description List checkpoints and savepoints. Filters: `job_id`, `run_id`, `number`, `state`, `trigger`, `is_savepoint`, `pinned`, `kept` (completed, and
         *     its files exist).
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
         * @description Return one checkpoint with the statistics of its subtasks. The ETag is that of its pin.
         */
        get: operations["get_checkpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Pin Checkpoint
         * @description Pin or unpin a checkpoint. A worker writes the pin to the job log; from then on `pin_in_force` is true and a running driver keeps the
         *     checkpoint, too. Before that, the driver may retire it.
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
         * @description List jobs with their newest run and last checkpoint. Filters: `id`, `name`, `q` (part of the name), `desired_state`, `needs_attention`
         *     (true: only a user can bring the job to its desired state).
         */
        get: operations["list_jobs"];
        put?: never;
        /**
         * Create
         * @description Deploy a job: compile its code, then start it. `operation` reports the progress.
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
         * @description Delete a job that is not running. Its checkpoints and its output remain; the logs of its runs are deleted soon.
         */
        delete: operations["delete_job"];
        options?: never;
        head?: never;
        /**
         * Change
         * @description Update the description and labels of a job. To change what it runs, add a version to its spec.
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
         * @description Stop a job immediately, without a final checkpoint. When it is started again, it replays the input since its newest checkpoint.
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
         * @description Trigger a checkpoint now. The result of the operation contains its number.
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
         * @description Delete a checkpoint or savepoint (`number` in the job log) of a job that does not run. Refused if it is pinned, needed by a plan, or the one
         *     that the job resumes from. A repeated request returns the same operation.
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
         * @description Read all files of a checkpoint (`number` in the job log) and compare them with their checksums. The operation's result says whether it is
         *     `whole`, and the checkpoint what its `damage` is. Workers also do this periodically.
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
         * @description Return the last completed checkpoints, oldest first: duration and sizes, and by chain (with `chain`, by its subtasks) the start delay,
         *     alignment and snapshot times.
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
         * @description Return how many checkpoints there are, how long the last ones took, and the newest of each kind.
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
         * @description Stream the changes of a job as server-sent events.
         *
         *     `event`: an event (as in `GET /events`) with its number as id. Every event is sent exactly once, starting after `Last-Event-ID` or
         *     `after`, or from now on. `progress`: the checkpoint in progress, at most ten times a second. `run`: the newest run, when it changes. The
         *     stream ends after some minutes; reconnect with the last id. It ends with `closed` (a problem with status 401) when the token becomes
         *     invalid. The number of streams per user is limited (429).
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
         * @description List the failures of a job, newest first. Filters: `run_id`, `kind`, `recovery`.
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
         * @description Get time series of each subtask and slot: throughput, time per activity, memory, gauges.
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
         * @description Compute what a rollback, a restore by path, an undo, an upgrade or a rescale would do. Nothing is changed; a worker inspects the checkpoint
         *     and completes the preview. A dry run (answered with 200) is not saved.
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
         * @description Take a savepoint: a checkpoint that is kept until a user deletes it. The result of the operation contains its number.
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
         * @description List the versions of the spec of a job, newest first.
         */
        get: operations["list_specs"];
        put?: never;
        /**
         * Add Spec
         * @description Add a version to the spec of a job. It is compiled immediately and runs after an upgrade to it is applied.
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
         * @description Compare two versions of the spec of a job: settings, code and operators.
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
         * @description Get a version of the spec of a job.
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
         * @description Get the logical and physical graph of a version of the spec of a job.
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
         * @description Start a job from its newest checkpoint, if it has one. A failed job restarts without waiting for its restart delay.
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
         * @description Stop a job with a final checkpoint, from which it resumes when it is started.
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
         * @description Get the current throughput, lag and backpressure of jobs. Jobs without a sample in the last 30 s are omitted.
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
         * @description List operations, newest first. Filters: `id`, `job_id`.
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
         * @description Get an operation with its steps so far. It has ended when `ended_at` is set.
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
         * @description List plans, newest first. Filters: `id`, `job_id`, `state`.
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
         * @description Return one plan. Its preview is complete once `preview.inspection` is set.
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
         * @description Apply an approved plan. Refused if the job has changed since the plan was made.
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
         * @description Approve the plan as it is. A plan that revokes output needs the permission `rollback`.
         */
        post: operations["approve_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan_id}/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Discard
         * @description Discard a plan that is not applied.
         */
        post: operations["discard_plan"];
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
         * @description List runs with their generations. Filters: `job_id`, `state` (as last reported: an unreachable run is returned as RECONCILING).
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
         * @description Return one run.
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
         * @description Return the commands of the run after number `after`. If there are none, wait up to `wait_s` for one.
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
         * @description Store a batch of events. Events that are already stored are skipped, so a driver may repeat batches or divide them differently.
         *
         *     409: events before this batch are missing; `stored` is the number of the last stored event. 410: the run is fenced, or it has ended and
         *     reports more events after its end.
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
         * @description Return the graph that the run deployed last: the physical graph, which contains the logical one.
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
         * Read Log
         * @description Return a chunk of the driver's log, at most 256 KiB.
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
         * @description Get the caller and the permissions of the token.
         */
        get: operations["get_session"];
        put?: never;
        /**
         * Create Session
         * @description Log in with name and password. The session token is valid for 12 hours. It is in the response, for programs, and in a cookie.
         */
        post: operations["create_session"];
        /**
         * Delete Session
         * @description Log out: revoke the session token and clear the cookie.
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
         * @description Start a login by OpenID Connect: redirect the browser to the provider.
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
         * @description Complete a login by OpenID Connect: open a session, and create the user at the first login.
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
         * @description Change your password. Your other sessions end; API tokens remain valid.
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
         * @description Get the current session and the available ways to log in. Requires no token; an invalid token counts as none.
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
         * @description Stream summaries of all jobs as server-sent events `job`: first every job, then each job that changes, at most twice a second. The
         *     stream ends like that of a single job.
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
         * @description List your tokens and sessions. Administrators list those of another user with the filter `user_id`, and all with `everybody` (true).
         *     Further filters: `id`, `name` (part of it), `kind`, `live`.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Create Token
         * @description Create a token for a program. Only this response contains it.
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
         * @description Get one of your tokens. Administrators can get any token.
         */
        get: operations["get_token"];
        put?: never;
        post?: never;
        /**
         * Revoke Token
         * @description Revoke one of your tokens. Administrators can revoke any token.
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
         * @description List users. Filters: `id`, `name` (part of it), `role`, `rollback`, `disabled`.
         */
        get: operations["list_users"];
        put?: never;
        /**
         * Create User
         * @description Create a user.
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
         * @description Get a user.
         */
        get: operations["get_user"];
        put?: never;
        post?: never;
        /**
         * Delete User
         * @description Delete a user and their tokens. The audit log keeps their entries. If-Match is optional.
         */
        delete: operations["delete_user"];
        options?: never;
        head?: never;
        /**
         * Change User
         * @description Update the role, permissions, status or password of a user. A lower role and a disabled account take effect immediately for all tokens.
         *     A new password ends all sessions of the user.
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
         * @description List webhooks. Filters: `id`, `name` (a part of it), `enabled`.
         */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Create
         * @description Create a webhook. Send a message with `test`.
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
         * @description Return one webhook, with its ETag.
         */
        get: operations["get_webhook"];
        put?: never;
        post?: never;
        /**
         * Delete
         * @description Delete a webhook that no rule uses, with its deliveries.
         */
        delete: operations["delete_webhook"];
        options?: never;
        head?: never;
        /**
         * Change
         * @description Update a webhook. Waiting messages are sent to its new URL.
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
         * @description List the deliveries of a webhook, newest first. Filters: `id`, `alert_id`, `about`, `state`.
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
         * @description Return one delivery. It has ended once `ended_at` is set.
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
         * @description Have a worker send a message now, also if the webhook is disabled. Read the delivery at `Location` until `ended_at` is set.
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
         * @description Report that the process serves requests.
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
         * @description Get metrics of all jobs in the Prometheus format. Requires a token with the permission to view.
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
         * @description Report whether the database is reachable and has the schema of this version. The result is at most one second old.
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
         * ActionRead
         * @description A verb that the caller sees. `reason`: why it is not allowed now, and what to do about that; null if it is allowed.
         */
        ActionRead: {
            /** Allowed */
            allowed: boolean;
            /** Reason */
            reason: string | null;
            verb: components["schemas"]["Verb"];
        };
        /**
         * AlertKind
         * @enum {string}
         */
        AlertKind: "no-checkpoint" | "failures" | "lag" | "restarts";
        /**
         * AlertRead
         * @description A rule that holds for a job, or did. `rule_id` null: the rule is deleted. `resolution`: why the alert was resolved.
         */
        AlertRead: {
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
         * AlertRuleCreate
         * @description `job_id` null: for all jobs. `webhook_id` null: no messages are sent.
         */
        AlertRuleCreate: {
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
        /** AlertRuleRead */
        AlertRuleRead: {
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
         * AlertRuleUpdate
         * @description Missing fields stay. `condition`: of the same kind. `webhook_id` null: send no messages any more.
         */
        AlertRuleUpdate: {
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
         * AlertState
         * @enum {string}
         */
        AlertState: "FIRING" | "RESOLVED";
        /**
         * AlignmentRead
         * @description Alignment here is aligned: nothing is persisted, and what was buffered or processed meanwhile is not counted.
         */
        AlignmentRead: {
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
         * ArtifactRead
         * @description `digest`: hexadecimal SHA-256 of the content. `size`: in bytes. `uploaded_at`: the last upload. Artifacts that no job uses are deleted
         *     some days after it.
         */
        ArtifactRead: {
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
         * AuditEntryRead
         * @description `user_name`: the name at that time; `weir` for the platform itself. `before`, `after`: the changed values.
         */
        AuditEntryRead: {
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
         * ChainStatisticsRead
         * @description Of operators that run in one subtask. ``operators`` is empty if the graph of the run is not known.
         */
        ChainStatisticsRead: {
            /** Chain */
            chain: number;
            /** Num Subtasks */
            num_subtasks: number;
            /** Operators */
            operators: components["schemas"]["OperatorNameRead"][];
            /** Subtasks */
            subtasks: components["schemas"]["SubtaskStatisticsRead"][];
            summary: components["schemas"]["SubtaskStatsSummaryRead"];
        };
        /** CheckpointCountsRead */
        CheckpointCountsRead: {
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
         * CheckpointDetailRead
         * @description `progress`: `[chain, index, after_ms]` of each acknowledgement in order, for the replay.
         */
        CheckpointDetailRead: {
            /** Acknowledged */
            acknowledged: number;
            /** Actions */
            actions: components["schemas"]["ActionRead"][];
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
            /** Kept Because */
            kept_because: string[];
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
            statistics: components["schemas"]["CheckpointStatisticsRead"];
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
         * @description `timeout`: a checkpoint that takes longer fails. `min_pause`: the minimum time between the end of a checkpoint and the start of the
         *     next periodic one. `tolerable_failed_checkpoints`: the number of consecutive checkpoints that may fail before the job recovers as from a
         *     failure; null: unlimited. `directory` null: the default directory of this job.
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
         * CheckpointOverviewRead
         * @description `counts`: of all rows. Summaries: over the last completed checkpoints. `latest_restore`: of the newest run that has reached RUNNING; null if
         *     it started without state.
         */
        CheckpointOverviewRead: {
            checkpointed_size: components["schemas"]["StatsSummaryRead"] | null;
            counts: components["schemas"]["CheckpointCountsRead"];
            end_to_end_duration: components["schemas"]["StatsSummaryRead"] | null;
            latest_completed: components["schemas"]["CheckpointRead"] | null;
            latest_failed: components["schemas"]["CheckpointRead"] | null;
            latest_restore: components["schemas"]["RestoreRead"] | null;
            latest_savepoint: components["schemas"]["CheckpointRead"] | null;
            /** Over */
            over: number;
            state_size: components["schemas"]["StatsSummaryRead"] | null;
        };
        /**
         * CheckpointPhaseSeriesRead
         * @description Of a subtask, or of the slowest subtask of a chain (`index` null): a value for each checkpoint. Null: not measured, or with another graph.
         */
        CheckpointPhaseSeriesRead: {
            /** Alignment Ms */
            alignment_ms: (number | null)[];
            /** Async Ms */
            async_ms: (number | null)[];
            /** Chain */
            chain: number;
            /** Index */
            index: number | null;
            /** Operators */
            operators: components["schemas"]["OperatorNameRead"][];
            /** Start Delay Ms */
            start_delay_ms: (number | null)[];
            /** Sync Ms */
            sync_ms: (number | null)[];
        };
        /**
         * CheckpointProgressRead
         * @description The checkpoint in progress. `progress`: `[chain, index, after_ms]` of each acknowledgement so far.
         */
        CheckpointProgressRead: {
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
         * CheckpointRead
         * @description `number`: its id in the job log. `parent`: number of the one before it in its branch. `state_bytes`: of all files that it references;
         *     `checkpointed_bytes`: of those that it wrote. `version`: of its pin, for If-Match. `pin_in_force`: the job log contains the pin, so no driver
         *     retires it. `leaving_at`: its deletion has begun. `discarded_at`: it was found retired, and its files are deleted. `damage`: what the
         *     verification at `verified_at` found.
         */
        CheckpointRead: {
            /** Acknowledged */
            acknowledged: number;
            /** Actions */
            actions: components["schemas"]["ActionRead"][];
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
            /** Kept Because */
            kept_because: string[];
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
        /**
         * CheckpointSeriesPointRead
         * @description A completed checkpoint. `start_delay_ms`, ...: of the slowest subtask; null where nothing was measured.
         */
        CheckpointSeriesPointRead: {
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
         * CheckpointSeriesRead
         * @description `checkpoints`: oldest first. `parts`: of the graph of the newest one.
         */
        CheckpointSeriesRead: {
            /** Checkpoints */
            checkpoints: components["schemas"]["CheckpointSeriesPointRead"][];
            /** Parts */
            parts: components["schemas"]["CheckpointPhaseSeriesRead"][];
        };
        /**
         * CheckpointState
         * @enum {string}
         */
        CheckpointState: "IN_PROGRESS" | "COMPLETED" | "FAILED";
        /**
         * CheckpointStatisticsRead
         * @description `state_size`: of all files that it references; `checkpointed_size`: of those that it wrote. `external_path`: of its manifest, once it is
         *     completed, without credentials.
         */
        CheckpointStatisticsRead: {
            /** Alignment Buffered */
            alignment_buffered?: number | null;
            /** Chains */
            chains: components["schemas"]["ChainStatisticsRead"][];
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
            summary: components["schemas"]["SubtaskStatsSummaryRead"];
            /** Trigger Timestamp */
            trigger_timestamp: number;
        };
        /** CheckpointSummaryRead */
        CheckpointSummaryRead: {
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
         * CheckpointUpdate
         * @description Retention never deletes a pinned checkpoint, once the pin is in force.
         */
        CheckpointUpdate: {
            /** Pinned */
            pinned: boolean;
            /**
             * Reason
             * @default
             */
            reason?: string;
        };
        /**
         * DeliveryRead
         * @description One message. `message_id`: identifies it for the receiver. `problem` and `status` (of HTTP): of the last attempt; `status` null: no answer.
         *     It has ended once `ended_at` is set. `alert_id` null: a test.
         */
        DeliveryRead: {
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
        DeliveryState: "PENDING" | "DELIVERED" | "FAILED";
        /**
         * DesiredState
         * @enum {string}
         */
        DesiredState: "RUNNING" | "SUSPENDED" | "CANCELLED";
        /**
         * EventAckRead
         * @description `stored`: the number of the last durably stored event of the run.
         */
        EventAckRead: {
            /** Stored */
            stored: number;
        };
        /**
         * EventRead
         * @description `number`: consecutive within the job. `run_event` null: the control plane wrote the event, not a driver.
         */
        EventRead: {
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
         * FailureRead
         * @description `recovery`: full, restart (another driver took over) or none (the run ended); null: not known yet.
         */
        FailureRead: {
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
         * @description The job has failed `count` times, or `count` checkpoints have, without a completed checkpoint in between; or Weir does not restart the job,
         *     whatever the count.
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
         * FieldChange
         * @description `path`: the field, with dots. `before` or `after` null: the field was added or removed.
         */
        FieldChange: {
            /** After */
            after: unknown;
            /** Before */
            before: unknown;
            /** Path */
            path: string;
        };
        /**
         * GraphRead
         * @description ``digest``: SHA-256 of the graph as canonical JSON. ``graph``: physical, with the logical one in it.
         */
        GraphRead: {
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
         * Health
         * @enum {string}
         */
        Health: "healthy" | "degraded" | "needs_attention";
        /**
         * JobCreate
         * @description `start` false: the job is created suspended.
         */
        JobCreate: {
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
            spec: components["schemas"]["JobSpec"];
            /**
             * Start
             * @default true
             */
            start?: boolean;
        };
        /**
         * JobRatesRead
         * @description Current rates of a job. `records_per_s`: read by its sources. `lag_records`: the sum over all sources. `lag_seconds`: the maximum over
         *     all sources. Null: no source reports it. `backpressure`: of the worst subtask. `at`: the time of the newest sample.
         */
        JobRatesRead: {
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
         * JobRead
         * @description `state`: of the newest run; CREATED if there is none. `version`: for If-Match.
         */
        JobRead: {
            /** Actions */
            actions: components["schemas"]["ActionRead"][];
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Description */
            description: string;
            desired_state: components["schemas"]["DesiredState"];
            health: components["schemas"]["Health"];
            /** Health Reason */
            health_reason: string;
            /** Id */
            id: number;
            /** Labels */
            labels: {
                [key: string]: string;
            };
            last_checkpoint: components["schemas"]["CheckpointSummaryRead"] | null;
            /** Name */
            name: string;
            operation: components["schemas"]["OperationRead"] | null;
            /** Restart At */
            restart_at: string | null;
            /** Restarts */
            restarts: number;
            run: components["schemas"]["RunSummaryRead"] | null;
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
        };
        /**
         * JobSpec
         * @description `artifact`: the digest of an uploaded file. `entry`: the function that builds the job: `function` in a .py file (default `job`), or
         *     `package.module:function` in an archive.
         */
        JobSpec: {
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
         * JobStatusRead
         * @description `state`: of the newest run; null without a run. `deleted`: the job has been deleted.
         */
        JobStatusRead: {
            /** Deleted */
            deleted: boolean;
            desired_state: components["schemas"]["DesiredState"];
            /** Id */
            id: number;
            last_checkpoint: components["schemas"]["LastCheckpointRead"] | null;
            /** Name */
            name: string;
            /** Run Id */
            run_id: number | null;
            state: components["schemas"]["RunState"] | null;
        };
        /**
         * JobUpdate
         * @description Omitted fields keep their values.
         */
        JobUpdate: {
            /** Description */
            description?: string | null;
            /** Labels */
            labels?: {
                [key: string]: string;
            } | null;
        };
        /**
         * LagCondition
         * @description A source (`source`: its uid; null: any) reports a larger `lag_records` or `lag_seconds`, now and a minute ago. Set at least one limit.
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
        /** LastCheckpointRead */
        LastCheckpointRead: {
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
        /** LoginRequest */
        LoginRequest: {
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
         * LoginStatusRead
         * @description `session` null: the caller is not logged in. `oidc` null: users log in with name and password only.
         */
        LoginStatusRead: {
            oidc: components["schemas"]["OidcProviderRead"] | null;
            session: components["schemas"]["SessionRead"] | null;
        };
        /**
         * MessageAbout
         * @description What a message to a webhook tells.
         * @enum {string}
         */
        MessageAbout: "FIRING" | "RESOLVED" | "TEST";
        /**
         * MetricsRead
         * @description `step_s`: the interval between points. It is larger than requested if there would be too many points.
         */
        MetricsRead: {
            /**
             * Since
             * Format: date-time
             */
            since: string;
            /** Slots */
            slots: components["schemas"]["SlotSeriesRead"][];
            /** Step S */
            step_s: number;
            /** Subtasks */
            subtasks: components["schemas"]["SubtaskSeriesRead"][];
            /**
             * Until
             * Format: date-time
             */
            until: string;
        };
        /**
         * NoCheckpointCondition
         * @description No checkpoint has completed for `minutes`, or for two of the job's own intervals if that is longer. Does not apply to stopped or finished
         *     jobs, to jobs that take no periodic checkpoints, nor after the job or the control plane was started, for as long.
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
         * OidcProviderRead
         * @description An OpenID Connect provider. `name`: its display name. `begin`: the path on this server at which a browser starts to log in.
         */
        OidcProviderRead: {
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
         * OperationRead
         * @description An asynchronous request and its outcome. `steps`: its progress. `problem`: why it failed.
         */
        OperationRead: {
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
        OperationState: "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "SUPERSEDED";
        /** OperatorNameRead */
        OperatorNameRead: {
            /** Name */
            name: string;
            /** Uid */
            uid: string;
        };
        /** PasswordUpdate */
        PasswordUpdate: {
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
        /** PhaseDurationsRead */
        PhaseDurationsRead: {
            /** Async */
            async: number;
            /** Sync */
            sync: number;
        };
        /**
         * PlanCreate
         * @description `dry_run`: return the plan without saving it.
         */
        PlanCreate: {
            /**
             * Dry Run
             * @default false
             */
            dry_run?: boolean;
            /** Request */
            request: components["schemas"]["RollbackRequest"] | components["schemas"]["RestoreRequest"] | components["schemas"]["UndoRequest"] | components["schemas"]["UpgradeRequest"] | components["schemas"]["RescaleRequest"];
        };
        /**
         * PlanInspection
         * @description What a worker found in checkpoint storage. `abandoned`: checkpoints that the plan abandons; until the job is stopped, those that it
         *     completes are added. `returning`: those whose output is reinstated. `again`: those whose output may not have been published and is committed
         *     again: a sink that is not revocable shows it twice. `misfit`: why the graph that is to run is incompatible with the state. `origin`: for a
         *     restore by path, the checkpoint that was found. The plan can be applied if `whole` and no `misfit`.
         */
        PlanInspection: {
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
            origin?: components["schemas"]["RestoreOrigin"] | null;
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
         * PlanKind
         * @enum {string}
         */
        PlanKind: "restore" | "rollback" | "undo" | "upgrade" | "rescale";
        /**
         * PlanPhase
         * @description Where a plan that is being applied has got to.
         * @enum {string}
         */
        PlanPhase: "VERIFYING" | "STOPPING" | "STARTING" | "REVERTING";
        /**
         * PlanPreview
         * @description `checkpoint`: the one that the job will restore; null: the one that it is stopped with, unless `origin` (the path of another one) or `anew`
         *     (no state) says otherwise. `age_s`: its age when this was computed. `restarts`: the operators that restart: all, as the driver is replaced.
         *     `duplicates`: sinks whose readers see records twice: those committed with `inspection.abandoned` (and until the job is stopped) and
         *     `inspection.again`; for a plan without a checkpoint, those committed with the one that the job is stopped with.
         */
        PlanPreview: {
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
            inspection: components["schemas"]["PlanInspection"] | null;
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
        /** PlanRead */
        PlanRead: {
            /** Actions */
            actions: components["schemas"]["ActionRead"][];
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
            preview: components["schemas"]["PlanPreview"];
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
        PlanState: "PROPOSED" | "APPROVED" | "APPLYING" | "APPLIED" | "FAILED" | "DISCARDED";
        /**
         * ProblemDetails
         * @description RFC 9457 problem details, with a `code` for programs and a `next_step` for users.
         */
        ProblemDetails: {
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
         * @description How the driver restarts: the delay grows with each consecutive restart. The runtime replaces lost slots without restarting the driver.
         *
         *     After `well_after_s` of running, the count starts again.
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
         * RestoreOrigin
         * @description A checkpoint elsewhere: number `checkpoint` of the job that its log calls `job`.
         */
        RestoreOrigin: {
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
         * RestoreRead
         * @description What a run restored, and when it was running. `cause`: why the run was created: restart, rollback, ... `checkpoint`: number of a checkpoint
         *     of the job; `is_savepoint` is null if its row is deleted. `path`: of a checkpoint elsewhere.
         */
        RestoreRead: {
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
         * @description Restore a checkpoint of another job, or a copy. It is copied; the original is never changed. Sinks revoke the committed output of this job,
         *     where they can. `path`: a checkpoint directory with one job, or the directory of one job, below a directory that the installation allows.
         *     `checkpoint`: its number there; without it, the newest.
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
         * @description Restore a completed checkpoint or savepoint of this job. Sinks revoke the output committed after it, where they can.
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
         * RunRead
         * @description `number`: the generation of the control plane. `generation`: of the runtime within the run. `fenced_at`: when the job was reassigned from
         *     this run. `missing_events`: how many its driver could not send. `directory`: its name below `runs` in the data directory of its host;
         *     `files_cleared_at`: when it was deleted, with the log. `reassignment_problem`: why the job is not reassigned although `host` is unreachable.
         */
        RunRead: {
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
            /** Reassignment Problem */
            reassignment_problem: string | null;
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
            /** Submitted At */
            submitted_at: string | null;
        };
        /**
         * RunState
         * @description Of a run as the control plane sees it. What the driver says of itself is ``weir.protocol.events.RunState``.
         * @enum {string}
         */
        RunState: "CREATED" | "INITIALIZING" | "RUNNING" | "RESTARTING" | "FAILING" | "CANCELLING" | "RECONCILING" | "FINISHED" | "SUSPENDED" | "CANCELED" | "FAILED";
        /**
         * RunStatusRead
         * @description The changing fields of the newest run of a job.
         */
        RunStatusRead: {
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
         * RunSummaryRead
         * @description `graph_id` null: the driver has not reported its graph yet.
         */
        RunSummaryRead: {
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
         * SessionCreatedRead
         * @description `token`: only this response contains it.
         */
        SessionCreatedRead: {
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
         * SessionRead
         * @description The caller. `permissions`: those of the token, which may be fewer than the user's.
         */
        SessionRead: {
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
         * @description `revocable`: abandoned output is revoked. Otherwise readers see these records twice. `records`: for a sink that is not revocable, how many
         *     records were committed with `abandoned` and `again` at the time of the inspection; null: unknown.
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
         * SlotSeriesRead
         * @description `gauges`: values of operators by `<uid>.<name>`, such as lag. Null: no value at that time.
         */
        SlotSeriesRead: {
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
         * @description `splits`: the unfinished ones, which are read again from their position; `position` as the source writes it.
         */
        SourcePosition: {
            /** Source */
            source: string;
            /** Splits */
            splits: unknown[];
        };
        /**
         * SpecCreate
         * @description A new version of the spec. It runs after an upgrade to it.
         */
        SpecCreate: {
            /**
             * Comment
             * @default
             */
            comment?: string;
            spec: components["schemas"]["JobSpec"];
        };
        /**
         * SpecDiffRead
         * @description The changes from one version to another. `code`: a unified diff of the job's file; null if it is not text.
         */
        SpecDiffRead: {
            /** After */
            after: number;
            /** Before */
            before: number;
            /** Changes */
            changes: components["schemas"]["FieldChange"][];
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
         * SpecGraphRead
         * @description `body`: the physical graph, including the logical graph, in the format of `weir graph --json`.
         */
        SpecGraphRead: {
            /** Body */
            body: {
                [key: string]: unknown;
            };
            /** Id */
            id: number;
        };
        /** SpecRead */
        SpecRead: {
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
        /** StatsSummaryRead */
        StatsSummaryRead: {
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
         * SubtaskSeriesRead
         * @description The four times add up to 1000 ms per second. `operators`: the operators of the chain, if the graph is known.
         */
        SubtaskSeriesRead: {
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
            operators: components["schemas"]["OperatorNameRead"][];
            /** Queued Ms Per S */
            queued_ms_per_s: number[];
            /** Records In Per S */
            records_in_per_s: number[];
            /** Records Out Per S */
            records_out_per_s: number[];
        };
        /**
         * SubtaskStatisticsRead
         * @description `straggler`: in a completed checkpoint, the subtask took at least the 95th percentile and 1.5 times the median of all subtasks.
         */
        SubtaskStatisticsRead: {
            /**
             * Aborted
             * @default false
             */
            aborted?: boolean;
            /** Ack Timestamp */
            ack_timestamp: number | null;
            alignment: components["schemas"]["AlignmentRead"] | null;
            checkpoint: components["schemas"]["PhaseDurationsRead"] | null;
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
         * SubtaskStatsSummaryRead
         * @description Summaries over subtasks; null where nothing was measured.
         */
        SubtaskStatsSummaryRead: {
            alignment: components["schemas"]["StatsSummaryRead"] | null;
            async: components["schemas"]["StatsSummaryRead"] | null;
            end_to_end_duration: components["schemas"]["StatsSummaryRead"] | null;
            start_delay: components["schemas"]["StatsSummaryRead"] | null;
            state_size: components["schemas"]["StatsSummaryRead"] | null;
            sync: components["schemas"]["StatsSummaryRead"] | null;
        };
        /**
         * TokenCreate
         * @description `role` and `rollback`: at most those of the caller.
         */
        TokenCreate: {
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
         * TokenCreatedRead
         * @description `token`: only this response contains it.
         */
        TokenCreatedRead: {
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
         * TokenKind
         * @enum {string}
         */
        TokenKind: "api" | "session";
        /**
         * TokenRead
         * @description Valid until it expires or is revoked. `last_used_at` has a resolution of one minute.
         */
        TokenRead: {
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
         * @description Run another version of the spec. `savepoint`: stop with a last checkpoint and resume from it. `last-state`: stop at once and resume from the
         *     newest completed checkpoint. `stateless`: stop with a last checkpoint, which an undo can return to, and start without state; sinks revoke
         *     committed output where they can, and all input is read again.
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
         * UserCreate
         * @description `rollback`: the user may approve and apply plans that revoke committed output. Without a password, the user cannot log in until an
         *     administrator sets one.
         */
        UserCreate: {
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
         * UserRead
         * @description `has_password`, `has_oidc`: the ways in which the user can log in.
         */
        UserRead: {
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
         * UserUpdate
         * @description Omitted fields keep their values.
         */
        UserUpdate: {
            /** Disabled */
            disabled?: boolean | null;
            /** Password */
            password?: string | null;
            role?: components["schemas"]["Role"] | null;
            /** Rollback */
            rollback?: boolean | null;
        };
        /**
         * Verb
         * @enum {string}
         */
        Verb: "start" | "suspend" | "cancel" | "savepoint" | "checkpoint" | "upgrade" | "rescale" | "restore" | "start_without_state" | "roll_back" | "pin" | "unpin" | "verify" | "delete" | "approve" | "apply" | "discard" | "undo";
        /**
         * WebhookCreate
         * @description `url`: http or https, without user and password. `secret_reference`: where workers find the key that signs messages:
         *     `env:WEIR_WEBHOOK_KEY_OPS`, an environment variable, or `file:ops`, a file in their key directory; null: messages are not signed.
         */
        WebhookCreate: {
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
         * WebhookRead
         * @description `receiver`: scheme, host and port of the URL. `url`: the whole URL, for administrators only, as it may be a secret; null for others.
         */
        WebhookRead: {
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
        /**
         * WebhookUpdate
         * @description Missing fields stay. `secret_reference` null: messages are no longer signed. Disabling a webhook fails its waiting messages.
         */
        WebhookUpdate: {
            /** Enabled */
            enabled?: boolean | null;
            /** Name */
            name?: string | null;
            /** Secret Reference */
            secret_reference?: string | null;
            /** Url */
            url?: string | null;
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
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["AlertRuleRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    create_alert_rule: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AlertRuleCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertRuleRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["AlertRuleRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    delete_alert_rule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    update_alert_rule: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
                "If-Match"?: string | null;
            };
            path: {
                rule_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AlertRuleUpdate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertRuleRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_alerts: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["AlertRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["AlertRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_artifacts: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["ArtifactRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    upload_artifact: {
        parameters: {
            query: {
                /** @description The file name, ending in .py, .zip or .whl */
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
            /** @description The content already exists */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactRead"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["ArtifactRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_audit: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["AuditEntryRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_checkpoints: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["CheckpointRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    get_checkpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id in the list, not the number in the job */
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
                    "application/json": components["schemas"]["CheckpointDetailRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    pin_checkpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
                "If-Match"?: string | null;
            };
            path: {
                /** @description The id in the list, not the number in the job */
                checkpoint_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckpointUpdate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_events: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["EventRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["JobRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    create_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["JobRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    delete_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    update_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
                "If-Match"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobUpdate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    take_checkpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    verify_checkpoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    get_checkpoint_series: {
        parameters: {
            query?: {
                /** @description `parts` are the subtasks of this one, not chains */
                chain?: number | null;
                /** @description How many completed checkpoints */
                last?: number;
                /** @description false: leave out `parts`, which are many for a large job */
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
                    "application/json": components["schemas"]["CheckpointSeriesRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    get_checkpoint_summary: {
        parameters: {
            query?: {
                /** @description How many completed checkpoints */
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
                    "application/json": components["schemas"]["CheckpointOverviewRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                /** @description Sent by browsers when they reconnect. It takes precedence over `after`. */
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_failures: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["FailureRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    get_job_metrics: {
        parameters: {
            query?: {
                /** @description Return only the subtasks of this chain. */
                chain?: number | null;
                /** @description With a time zone. Default: 15 minutes ago. */
                since?: string | null;
                /** @description The interval between points. */
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
                    "application/json": components["schemas"]["MetricsRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    propose_plan: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlanCreate"];
            };
        };
        responses: {
            /** @description What would be done: a dry run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanRead"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    take_savepoint: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_specs: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["SpecRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    add_spec: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
                "Idempotency-Key"?: string | null;
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
                "If-Match"?: string | null;
            };
            path: {
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SpecCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpecRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["SpecDiffRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["SpecRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["SpecGraphRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    start_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    suspend_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    get_job_rates: {
        parameters: {
            query?: {
                /** @description The jobs to include. Default: the first 200 running jobs. */
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
                    "application/json": components["schemas"]["JobRatesRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_operations: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["OperationRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_plans: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["PlanRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["PlanRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    apply_plan: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["OperationRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    approve_plan: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["PlanRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    discard_plan: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["PlanRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["RunRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["RunRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    wait_for_commands: {
        parameters: {
            query: {
                /** @description The number of the last command that the driver has received. */
                after: number;
                /** @description The time to wait for a command, at most 30 s. */
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    post_events: {
        parameters: {
            query: {
                /** @description The number of the first event in the batch. */
                first: number;
                /** @description The number of the oldest event that the driver can still send. */
                oldest: number;
            };
            header?: never;
            path: {
                run_id: number;
            };
            cookie?: never;
        };
        /** @description Consecutive events of the run: `[[number, at_ms, kind, {fields}], ...]` */
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
                    "application/json": components["schemas"]["EventAckRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["GraphRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    read_log: {
        parameters: {
            query?: {
                /** @description In bytes from the beginning; negative: from the end */
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
                    /** @description Offset of the next chunk */
                    "X-Log-Next"?: number;
                    /** @description Size of the log in bytes */
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["SessionRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                "application/json": components["schemas"]["LoginRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionCreatedRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                "application/json": components["schemas"]["PasswordUpdate"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["LoginStatusRead"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["TokenRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                "application/json": components["schemas"]["TokenCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenCreatedRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["TokenRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_users: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["UserRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                "application/json": components["schemas"]["UserCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["UserRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    delete_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    change_user: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
                "If-Match"?: string | null;
            };
            path: {
                user_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserUpdate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_webhooks: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["WebhookRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    create_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["WebhookRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    delete_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    update_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version to change, for example `"7"`. `*`: any version. */
                "If-Match"?: string | null;
            };
            path: {
                webhook_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookUpdate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Precondition required */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    list_deliveries: {
        parameters: {
            query?: {
                /** @description `{field: value}` */
                filter?: string | null;
                /** @description `[first,last]`: inclusive, starting at 0 */
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
                    "application/json": components["schemas"]["DeliveryRead"][];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/json": components["schemas"]["DeliveryRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
        };
    };
    test_webhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique key chosen by the client. A request repeated with the same key has no second effect and returns the first response. Keys expire after a day. */
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
                    "application/json": components["schemas"]["DeliveryRead"];
                };
            };
            /** @description Not authenticated */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Invalid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
                };
            };
            /** @description Too many requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
                    "application/problem+json": components["schemas"]["ProblemDetails"];
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
export const deliveryStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["DeliveryState"]> = ["PENDING", "DELIVERED", "FAILED"];
export const desiredStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["DesiredState"]> = ["RUNNING", "SUSPENDED", "CANCELLED"];
export const failuresConditionKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["FailuresCondition"]["kind"]> = ["failures"];
export const healthValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["Health"]> = ["healthy", "degraded", "needs_attention"];
export const lagConditionKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["LagCondition"]["kind"]> = ["lag"];
export const messageAboutValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["MessageAbout"]> = ["FIRING", "RESOLVED", "TEST"];
export const noCheckpointConditionKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["NoCheckpointCondition"]["kind"]> = ["no-checkpoint"];
export const operationKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["OperationKind"]> = ["deploy", "start", "suspend", "cancel", "savepoint", "checkpoint", "verify", "apply-plan", "delete"];
export const operationStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["OperationState"]> = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "SUPERSEDED"];
export const permissionValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["Permission"]> = ["view", "operate", "rollback", "administer"];
export const planKindValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["PlanKind"]> = ["restore", "rollback", "undo", "upgrade", "rescale"];
export const planPhaseValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["PlanPhase"]> = ["VERIFYING", "STOPPING", "STARTING", "REVERTING"];
export const planStateValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["PlanState"]> = ["PROPOSED", "APPROVED", "APPLYING", "APPLIED", "FAILED", "DISCARDED"];
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
export const verbValues: ReadonlyArray<FlattenedDeepRequired<components>["schemas"]["Verb"]> = ["start", "suspend", "cancel", "savepoint", "checkpoint", "upgrade", "rescale", "restore", "start_without_state", "roll_back", "pin", "unpin", "verify", "delete", "approve", "apply", "discard", "undo"];
