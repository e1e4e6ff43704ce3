//! The record against its engines. A case is a function over a [`Subject`](world::Subject), named for the rule it proves;
//! [`conformance_suite!`] makes a test of each for one engine.
//!
//! The invariants of batches and work items are tests whose names begin with `i01` to `i12`. Most are here; `i05` (a killed process) is in
//! `crates/cli/tests/crash`, `i06` and `i07` (one ARK, one object for a local identifier) are in the suite of `crates/engine`, and `i10`
//! (the more urgent first) in `crates/queue/src/conformance`. All are looked for from outside by `crates/cli/tests/chaos`, too.

mod activities;
mod advancing;
mod append_only;
mod batch_checks;
mod batch_model;
mod batch_people;
mod batch_workers;
mod batching;
mod bringing;
mod claims;
mod collections;
mod confirming;
mod content_acts;
mod endings;
mod events;
mod fences;
mod holding;
mod identification;
mod identifying;
mod isolation;
mod journal;
mod legal_holding;
mod marks;
mod messages;
mod model;
mod ordering;
mod parts;
mod people;
mod placements;
mod policies;
mod postgres;
mod profiles;
mod provenance;
mod random_batches;
mod reporting;
mod requests;
mod restorations;
mod restored;
mod scheduling;
mod searching;
mod space;
mod sqlite;
mod states;
mod together;
mod transitions;
mod versioning;
mod waiting;
mod world;

/// A test for each case; `$make` is a function that gives a fresh [`Subject`](world::Subject), or none where the engine's
/// server is absent.
macro_rules! conformance_suite {
    ($make:path) => {
        conformance_suite! { $make:
            activities {
                an_activity_and_its_first_task_are_made_together_or_not_at_all
                options_are_kept_as_they_are_up_to_a_length
                activities_take_the_transitions_of_the_table_and_no_other
                success_and_failure_are_told_apart
                a_chain_takes_what_was_processed_without_asking_provenance
                a_follower_ends_with_what_it_follows
                followers_go_on_where_what_they_follow_goes_on
                followers_that_have_not_ended_take_what_is_retried_as_well
                a_run_of_the_same_records_takes_what_is_retried_later_as_well
                a_follower_waits_for_one_that_failed_and_not_for_one_that_was_cancelled
                a_lost_list_is_rebuilt_from_provenance_without_repeating_what_is_processed
                a_lost_list_of_a_source_begins_with_what_was_processed
                a_follower_goes_on_where_what_it_follows_lost_its_list
                another_run_has_a_number_and_a_list_of_its_own
                another_run_after_one_that_had_not_taken_all_records_takes_those_of_the_run_before
                records_that_were_not_all_found_are_not_run_again
                an_activity_is_not_run_again_while_its_records_are_being_taken
                an_activity_is_paused_resumed_and_cancelled
                a_watermark_moves_when_a_run_ends_well
                a_pipeline_is_run_step_by_step
                a_pipeline_has_a_watermark_of_its_own_for_each_source
                a_pipeline_that_was_changed_meanwhile_is_not_run
                a_pipeline_is_found_by_its_name_within_a_scope
                a_pipeline_of_the_most_steps_is_run_at_once
                activities_of_another_institution_are_not_seen
            }
            placements {
                what_a_store_lacks_is_counted_before_and_after_it_was_compared
                whatever_takes_something_away_is_counted_at_once
                a_mark_goes_when_every_store_holds_the_object_whole
                a_count_that_stops_at_its_bound_says_so
                a_store_that_is_compared_no_more_is_compared_from_the_beginning_later
                counts_of_items_and_rows_stop_at_their_bound
                items_of_a_cancelled_batch_that_a_worker_has_are_counted_until_they_end
            }
            provenance {
                the_first_result_of_an_entity_generates_it_and_later_ones_revise_it
                recording_again_changes_nothing
                invalidation_is_soft_and_is_refused_where_there_is_nothing_to_invalidate
                what_was_done_to_an_entity_at_one_time_is_listed_once_each
                entities_of_institutions_are_apart
                what_runs_made_of_records_and_is_valid_is_found
            }
            advancing {
                an_item_goes_on_under_the_lease_that_its_worker_has
                an_item_that_goes_on_is_taken_over_at_the_stage_it_is_at
                an_item_goes_by_the_queue_where_anything_stands_in_its_way
                a_wake_up_for_the_stage_before_is_not_kept
                a_stage_that_ends_by_the_queue_puts_its_task_into_the_next_line
            }
            together {
                each_end_of_a_group_is_as_one_by_itself
                items_that_succeed_in_one_group_end_each_of_their_batches_once
                a_group_begins_nothing_that_a_newer_schema_or_a_limit_may_forbid
                groups_do_not_wait_for_each_other_for_ever
            }
            claims {
                a_claim_and_the_lease_of_its_task_come_together
                a_worker_that_stops_without_a_word_loses_its_item
                an_item_whose_task_is_in_the_topic_of_another_program_goes_on_in_that_of_its_stage
                a_task_without_an_item_is_leased_as_what_it_is
                a_worker_leaves_the_items_of_workflows_that_it_does_not_know
                a_task_whose_item_has_moved_on_is_settled_unseen
                attempts_of_workers_that_crash_are_counted_and_the_item_fails_with_its_task
                giving_up_wakes_the_newer_deposit
                a_committing_item_rests_after_crashes_and_is_tried_again
                a_heartbeat_extends_task_item_and_object_lease_together
                a_heartbeat_extends_only_what_its_claim_still_holds
                every_stranded_item_and_no_other_is_given_a_task
                an_item_that_waits_by_a_clock_that_was_ahead_is_due_when_it_is_right_again
            }
            ordering {
                deposits_of_an_object_keep_the_order_of_their_submission_whatever_the_clocks_say
                a_failed_deposit_is_put_right_by_one_that_was_submitted_later
            }
            messages {
                messages_about_a_batch_are_counted_and_those_of_delivered_items_are_not_listed
                a_removed_message_and_a_recipient_who_was_refused_are_not_counted_as_delivered
                a_message_about_no_work_item_is_found_by_its_key_and_inserted_once
                what_a_channel_notes_of_a_message_stays_until_it_is_delivered_and_attempts_are_counted_anew
            }
            marks {
                a_file_that_several_stores_miss_is_on_a_page_for_each
                the_mark_of_a_store_only_rises_and_belongs_to_the_store_itself
            }
            endings {
                next_goes_on_with_a_new_task
                every_task_of_an_item_has_its_priority_and_takes_turns_by_its_institution
                defer_waits_with_the_same_task_and_spends_nothing
                whoever_ends_an_item_hears_what_came_of_it_and_only_then
                an_item_that_ends_while_it_is_leased_or_taken_over_is_told
                defer_does_not_sleep_through_a_wake_up
                an_item_that_is_wanted_again_while_its_last_attempt_fails_leaves_one_dead_task
                transient_errors_are_retried_until_the_attempts_are_spent
                fatal_fails_the_item_and_sweeps_behind_it
                only_a_verdict_on_the_package_ends_an_item_as_invalid
                staging_that_is_lost_again_and_again_asks_for_a_person
                only_a_refused_store_asks_for_a_person_while_it_is_waited_for
                back_begins_an_earlier_stage_afresh
                attempts_are_counted_until_the_item_goes_on
                held_waits_for_a_person_without_a_task
                succeeded_ends_without_a_sweep
                released_gives_the_attempt_back
                a_committing_item_does_not_fail
                retry_brings_task_and_item_back
                dead_tasks_are_brought_back_a_hundred_at_a_time
                a_newer_deposit_is_woken_however_the_older_one_ends
            }
            requests {
                a_waiting_item_is_held_released_and_cancelled
                a_started_item_is_asked_and_follows_when_its_stage_ends
                a_request_is_carried_out_when_the_worker_dies
                a_request_is_carried_out_instead_of_the_next_claim
                a_release_withdraws_a_hold_that_was_only_asked_for
                a_cancelled_item_is_swept_however_its_stage_ended
                i12_row_and_history_of_a_deleted_item_stay_and_nothing_else_does
                a_person_fails_an_item_that_keeps_what_it_has_and_can_be_requeued
                a_committed_item_cannot_be_stopped
                a_request_that_came_before_the_commit_does_not_stop_it
                requeueing_begins_where_the_workflow_says_and_no_later
                an_item_is_requeued_whatever_its_sweep_is_at
                a_stage_of_another_action_is_refused
                an_item_at_rest_holds_no_object
            }
            collections {
                what_is_changed_of_a_collection_makes_a_version_of_its_rules
                a_batch_keeps_the_rules_that_it_began_with_until_a_person_says_otherwise
                the_tasks_of_an_item_are_more_urgent_the_smaller_it_is
                an_item_is_moved_at_once_where_it_waits_and_from_its_next_task_on_where_it_does_not
            }
            confirming {
                new_rules_wake_what_waits_for_a_confirmation_page_by_page
                a_confirmation_that_is_given_up_wakes_what_waits_and_requeues_what_failed
                what_the_stage_before_said_is_known_whatever_was_said_since
            }
            holding {
                holds_are_independent_and_a_release_names_what_still_holds
                i09_a_hold_of_any_kind_takes_effect_before_the_next_stage_also_where_that_is_inline
                a_hold_is_met_at_the_claim_and_where_the_worker_dies
                whatever_arrives_under_a_hold_is_held_and_continues_when_it_is_lifted
                a_requeued_item_obeys_the_holds_that_there_are
                a_committed_item_goes_on_under_every_hold
                what_a_process_left_between_a_hold_and_its_items_is_settled_page_by_page
                what_a_stage_holds_for_a_person_has_a_hold_with_its_reason
                a_package_that_would_fail_again_is_not_requeued
            }
            batching {
                i02_a_batch_ends_and_reports_only_when_every_row_has_an_item_and_none_is_open
                what_was_deleted_counts_as_what_it_was
                i11_batches_take_the_transitions_of_the_table_and_no_other
                the_state_of_a_batch_follows_from_its_items
                a_batch_is_held_and_released_as_one
                a_batch_is_cancelled_but_for_what_is_committed
                the_items_of_a_batch_that_wait_or_are_worked_on_fail_and_those_that_are_held_stay
                a_request_for_a_batch_changes_a_page_of_items_in_a_transaction_and_stops_lists_first
                no_stage_begins_in_a_batch_that_is_being_cancelled_and_workers_end_its_items
                items_of_rows_that_are_made_behind_the_pages_of_a_cancellation_are_cancelled
                pages_of_a_request_that_another_process_has_carried_out_change_nothing
                a_cancellation_of_a_batch_takes_the_place_of_a_failure_and_stays
                a_batch_that_is_deleted_begins_nothing_more_and_is_deleted_page_by_page
                what_is_committed_is_completed_in_a_batch_that_is_deleted
                the_paused_topics_are_named_in_which_items_of_a_batch_wait
                of_facts_the_beginnings_are_shown
                a_deleted_batch_stays_deleted
                making_a_batch_twice_makes_one
                counts_and_listings_of_a_batch_are_its_own
                a_list_shows_the_items_that_its_filter_means_whichever_index_it_is_read_from
                items_are_counted_by_collection_and_status
            }
            reporting {
                a_batch_that_ends_has_one_report_that_says_what_came_of_each_item
                an_update_says_what_changed_and_what_is_unresolved
                an_update_in_which_nothing_changed_says_so
                a_report_of_an_open_batch_is_provisional_and_takes_the_place_of_the_one_before
                a_long_report_says_what_was_true_when_the_batch_ended_whatever_happens_before_it_is_written
                a_long_report_is_written_in_pages_by_any_number_of_workers
                a_request_waits_for_a_report_that_lacks_more_than_a_page
                a_long_update_that_a_person_asks_for_is_written_in_pages
                a_long_provisional_report_says_what_was_true_at_one_moment_and_is_shown_when_it_is_whole
                a_batch_that_is_held_or_deleted_has_no_report
                what_is_told_is_enqueued_where_a_collection_has_it_told_and_only_there
                i03_messages_of_a_report_are_recorded_once
                the_items_of_a_batch_end_together_and_not_while_one_is_to_be_reviewed
                reports_end_with_their_batch
            }
            bringing {
                what_a_version_brings_is_told_in_pages_with_where_it_is_staged
                copies_of_a_version_are_to_be_proved_until_they_are
                an_attested_copy_is_proved_and_has_passed_no_check
                the_paths_of_a_content_are_those_of_published_versions
                what_a_version_brings_is_not_what_one_of_its_number_in_another_generation_brings
            }
            events {
                a_new_payload_file_tells_ten_acts
                a_file_that_was_identified_tells_as_what_and_how
                the_parts_of_an_event_keep_their_identifiers
                events_of_a_version_are_seen_with_it
                every_event_is_on_exactly_one_page
            }
            fences {
                a_claim_writes_to_its_own_item_and_no_other
                every_write_of_a_worker_is_refused_once_the_item_is_lost
                every_write_of_a_worker_is_refused_after_its_stage_ended
                i04_every_write_with_an_earlier_fence_is_refused_though_its_task_is_current
                what_is_written_with_an_end_is_refused_once_a_store_was_replaced
            }
            identification {
                files_of_other_signatures_are_behind_until_they_are_identified_anew
                what_nobody_sees_yet_or_nobody_may_see_is_not_behind
            }
            identifying {
                a_name_that_is_recorded_already_is_not_chosen
                an_ark_of_an_object_without_versions_can_move_to_another_and_leaves_it_there_alone
            }
            restorations {
                a_list_is_noted_once_for_each_object_and_goes_as_work_items_are_made
                a_list_without_a_batch_is_forgotten_after_a_time_and_one_with_a_batch_is_not
                the_objects_of_a_collection_come_in_pages_once_they_are_published
                how_far_a_batch_came_follows_from_its_items_and_the_receipt_has_all_of_them
                ended_items_of_a_batch_are_kept_until_its_receipt_is_written
            }
            restored {
                a_result_is_removed_when_its_time_has_run_out_and_its_history_says_so
                a_place_that_a_restoration_has_used_is_never_used_by_another
                a_later_attempt_knows_what_an_earlier_one_was_about_to_put
                what_a_restoration_had_put_when_it_ended_early_has_its_time_and_nothing_else_has
            }
            isolation {
                nothing_of_another_institution_is_seen
            }
            journal {
                a_refusal_is_found_by_its_actor_and_act_since_a_time
            }
            legal_holding {
                each_of_several_holds_on_a_target_forbids_until_it_is_released_by_itself
                a_hold_is_released_once_and_keeps_what_it_says
                a_hold_that_a_store_knows_is_taken_over_with_its_release
                a_hold_is_placed_once_and_only_on_what_is_there
                what_forbids_a_deletion_is_named_by_kinds_and_bounded
                retention_counts_from_the_last_deposit_and_follows_the_rules_of_now
                a_deletion_begins_where_nothing_forbids_it_and_is_not_asked_again
                a_hold_and_a_deletion_at_once_do_not_miss_each_other
            }
            parts {
                parts_of_one_set_do_not_wait_for_each_other
                a_deposit_that_ends_wakes_the_next_that_waits_for_its_turn
                what_is_missing_follows_from_the_set_that_was_named_last
            }
            people {
                an_account_is_one_however_its_address_is_typed
                an_account_that_is_added_twice_at_once_is_one
                a_role_belongs_to_an_institution_or_to_the_installation
                users_and_keys_of_another_institution_are_not_seen
                a_deactivated_user_has_no_session_token_or_key
                a_new_password_ends_sessions_and_tokens_and_forgets_attempts
                a_hash_is_renewed_only_where_no_other_password_was_set
                a_step_of_a_second_factor_is_used_once_and_none_before_it_afterwards
                a_second_factor_is_confirmed_once_and_is_not_replaced
                all_second_factors_are_sealed_with_one_key_until_they_are_reset
                a_backup_code_is_used_once_and_goes_with_the_second_factor
                a_token_is_used_once_until_it_expires_and_the_newest_only
                a_key_is_named_revoked_once_and_says_when_it_was_used
                the_token_of_a_session_is_replaced_once_and_the_one_before_is_known
                a_session_ends_by_its_times_and_by_a_clock_that_is_turned_back
                attempts_at_once_are_counted_one_after_the_other
                a_clock_that_is_turned_opens_no_throttle_and_locks_none_for_long
                attempts_on_accounts_that_exist_are_not_forgotten
            }
            policies {
                a_version_of_a_policy_stays_and_the_newest_applies
                a_policy_that_was_made_from_an_older_version_is_not_set
                of_two_policies_that_are_set_at_once_one_is_set
                the_newest_version_that_deletes_is_approved_once
            }
            profiles {
                a_version_of_a_profile_stays_as_it_was_added
                a_removed_version_is_used_by_nothing_new_and_stays
                a_profile_is_not_removed_while_a_collection_names_it
                a_version_that_only_a_record_names_keeps_its_number_for_its_document
                a_numbered_version_is_put_once_and_removed_with_those_before_it
                documents_that_are_added_at_once_become_versions_of_their_own
                one_document_that_is_added_twice_at_once_is_one_version
            }
            scheduling {
                a_run_that_is_wanted_while_one_is_under_way_follows_it
                a_run_is_wanted_no_later_than_its_time
                a_run_is_taken_once_and_ended_by_who_has_it
                how_a_run_ended_is_told_until_the_next_one_ends
            }
            searching {
                objects_are_found_by_words_of_their_description
                files_are_found_by_a_path_in_another_normalization_form
                objects_are_found_by_a_name_in_another_normalization_form_where_there_is_one
                files_are_found_by_path_and_by_any_digest
            }
            space {
                the_ledger_never_exceeds_the_capacity
                an_item_that_failed_keeps_the_space_of_what_was_not_recorded
                space_comes_back_and_those_who_wait_are_woken
                i08_one_owner_holds_an_object
                a_lease_that_ran_out_is_taken_over_with_a_higher_fence
                a_committing_object_is_kept_for_its_item
                a_released_lease_is_not_extended
                a_lease_is_its_owners_alone_and_ends_at_its_moment
                totals_count_the_payload
                who_waits_for_an_object_is_woken_when_it_is_let_go
            }
            waiting {
                small_items_pass_a_large_one_until_it_has_waited_for_long
                items_that_have_waited_for_long_get_space_in_the_order_of_their_waits
                an_item_that_has_space_gets_more_while_another_is_first
                an_item_of_unknown_size_is_passed_until_it_has_waited_for_long
                an_item_that_can_never_begin_keeps_none_waiting
                an_item_that_waits_for_the_quota_of_its_institution_keeps_no_other_institution_waiting
                an_item_that_a_person_stops_or_sends_back_keeps_none_waiting_and_wakes_those_behind_it
                an_item_that_is_released_waits_anew
                a_wait_that_began_by_a_clock_that_was_ahead_is_counted_from_its_next_attempt
                what_stopped_items_have_keeps_none_waiting_behind_one_that_needs_it
                an_item_that_waits_says_which_other_has_most
                an_item_that_gave_its_space_back_begins_with_what_it_needs_at_least
                of_what_an_item_needs_whose_bytes_others_state_it_reserves_what_had_come
                an_item_needs_no_more_than_can_become_free_but_for_what_there_was_no_room_for
                an_item_needs_no_more_of_a_quota_than_can_become_free
                an_item_that_is_stopped_while_it_is_refused_its_first_bytes_waits_anew
                those_behind_an_item_that_is_requeued_are_woken
                an_empty_place_passes_none_that_is_first
                an_item_that_has_to_wait_again_has_waited_since_its_first_wait
            }
            states {
                a_version_is_swept_once_and_not_before_its_rows_are_gone
                the_first_line_of_a_record_stays_as_it_was_first_written
                a_published_version_is_not_committed_again
                of_two_committed_versions_one_is_published
                an_item_that_ends_discards_what_it_was_preparing_and_nothing_else
            }
            transitions {
                i11_items_take_the_transitions_of_the_table_and_no_other
            }
            versioning {
                readers_see_a_version_when_it_is_published_and_not_before
                an_inventory_names_what_its_version_and_those_before_it_brought
                a_dropped_version_leaves_no_rows
                a_version_of_the_same_number_keeps_its_events_when_a_later_one_is_dropped
                putting_rows_again_changes_nothing
                a_dropped_version_takes_no_more_rows
                a_version_is_discarded_by_its_worker_or_behind_its_ended_item
                an_item_that_is_cancelled_discards_what_it_was_preparing
                a_worker_whose_version_was_given_up_changes_nothing_of_the_next
                dropping_goes_by_the_identifier_and_not_by_the_number
                the_stores_of_a_version_are_known_until_it_is_published
                a_swept_version_is_swept_again_when_its_worker_wakes
                a_version_that_is_committing_is_not_dropped
                a_commit_fixes_the_inventory
                a_version_is_not_published_before_it_is_committed
                an_object_is_made_once
                what_happens_to_one_version_happens_to_no_other
            }
        }
    };
    ($make:path: $($module:ident { $($case:ident)* })*) => { conformance_suite! { @ $make: $($($module $case)*)* } };
    (@ $make:path: $($module:ident $case:ident)*) => {
        #[test]
        fn random_work_follows_the_model() {
            crate::model::random_work_follows_the_model(|| Some(Box::new($make()?)));
        }
        #[test]
        fn i01_random_acts_leave_each_item_in_one_state_and_each_batch_in_that_of_its_items() {
            crate::random_batches::i01_random_acts_leave_each_item_in_one_state_and_each_batch_in_that_of_its_items(|| Some(Box::new($make()?)));
        }
        $(
            #[test]
            fn $case() {
                if let Some(subject) = $make() {
                    crate::$module::$case(&subject);
                }
            }
        )*
    };
}
pub(crate) use conformance_suite;
