import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000500_sign_in_providers extends Migration {
  override up() {
    this.addSql('create table `oidc_providers` (`name` text not null, `created_at` datetime not null, `label` text not null, `issuer` text not null, `client_id` text not null, `client_secret` text null, `scopes` text not null, `groups_claim` text null, primary key (`name`));')
    this.addSql('create table `oidc_provider_states` (`name` text not null, `last_success_at` datetime null, `last_error_at` datetime null, `last_error` text null, primary key (`name`));')
    this.addSql('create table `linked_identities` (`id` text not null, `created_at` datetime not null, `user_id` text not null, `issuer` text not null, `subject` text not null, `email` text null, `last_used_at` datetime not null, primary key (`id`), constraint `linked_identities_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade);')
    this.addSql('create unique index `linked_identities_issuer_subject_unique` on `linked_identities` (`issuer`, `subject`);')
    this.addSql('create index `linked_identities_user_id_index` on `linked_identities` (`user_id`);')
    this.addSql("create table `oidc_rounds` (`id` text not null, `created_at` datetime not null, `state_hash` text not null, `browser_hash` text not null, `provider` text not null, `purpose` text check (`purpose` in ('signIn', 'link', 'invite', 'proof', 'test', 'result')) not null, `session_id` text null, `sealed` text not null, `expires_at` datetime not null, primary key (`id`), constraint `oidc_rounds_session_id_foreign` foreign key (`session_id`) references `sessions` (`id`) on delete cascade);")
    this.addSql('create unique index `oidc_rounds_state_hash_unique` on `oidc_rounds` (`state_hash`);')
    this.addSql('create index `oidc_rounds_session_id_index` on `oidc_rounds` (`session_id`);')
    this.addSql('create index `oidc_rounds_expires_at_index` on `oidc_rounds` (`expires_at`);')
    this.addSql('create table `provider_sessions` (`session_id` text not null, `issuer` text not null, `subject` text not null, `sid` text null, `end_session_url` text null, primary key (`session_id`), constraint `provider_sessions_session_id_foreign` foreign key (`session_id`) references `sessions` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `provider_sessions_issuer_subject_index` on `provider_sessions` (`issuer`, `subject`);')
    this.addSql('create index `provider_sessions_sid_index` on `provider_sessions` (`sid`);')
    this.addSql('create table `used_logout_tokens` (`hash` text not null, `expires_at` datetime not null, primary key (`hash`));')
    this.addSql('create index `used_logout_tokens_expires_at_index` on `used_logout_tokens` (`expires_at`);')
    this.addSql('alter table `users` add column `provider_sign_in_at` datetime null;')
    this.addSql('alter table `users` add column `has_mapped_role` integer not null default false;')
    this.addSql("alter table `publisher_members` add column `mapped_role` text check (`mapped_role` in ('admin', 'member')) null;")
    this.addSql("alter table `publisher_members` add column `manual_role` text check (`manual_role` in ('admin', 'member')) null;")
  }
}
