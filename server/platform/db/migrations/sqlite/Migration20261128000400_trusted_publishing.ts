import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000400_trusted_publishing extends Migration {
  override up() {
    this.addSql("create table `token_issuers` (`id` text not null primary key, `created_at` datetime not null, `name` text not null, `url` text not null, `preset` text check (`preset` in ('github', 'gitlab', 'forgejo', 'buildkite', 'circleci', 'bitbucket', 'google', 'custom')) not null, `key_set` text not null, `keys_fetched_at` datetime not null, `keys_tried_at` datetime not null, `key_problem` text null);")
    this.addSql('create unique index `token_issuers_url_unique` on `token_issuers` (`url`);')
    this.addSql('create table `trusted_publishers` (`id` text not null primary key, `created_at` datetime not null, `issuer_id` text not null, `package_id` text null, `publisher_id` text null, `created_by_id` text null, `label` text not null, `repository` text null, `workflow` text null, `environment` text null, `events` text not null, `claims` text not null, `tag_pattern` text null, `is_read_only` integer not null, `locked_repository_id` text null, `locked_owner_id` text null, `last_used_at` datetime null, `last_use` text null, `last_rejected_at` datetime null, `last_rejection` text null, constraint `trusted_publishers_issuer_id_foreign` foreign key (`issuer_id`) references `token_issuers` (`id`) on delete cascade, constraint `trusted_publishers_package_id_foreign` foreign key (`package_id`) references `packages` (`id`) on delete cascade, constraint `trusted_publishers_publisher_id_foreign` foreign key (`publisher_id`) references `publishers` (`id`) on delete cascade, constraint `trusted_publishers_created_by_id_foreign` foreign key (`created_by_id`) references `users` (`id`) on delete set null);')
    this.addSql('create index `trusted_publishers_issuer_id_index` on `trusted_publishers` (`issuer_id`);')
    this.addSql('create index `trusted_publishers_package_id_index` on `trusted_publishers` (`package_id`);')
    this.addSql('create index `trusted_publishers_publisher_id_index` on `trusted_publishers` (`publisher_id`);')
    this.addSql('create index `trusted_publishers_created_by_id_index` on `trusted_publishers` (`created_by_id`);')
    this.addSql('create table `ci_jobs` (`id` text not null primary key, `created_at` datetime not null, `hash` text not null, `issuer_id` text not null, `display_name` text not null, `claims` text not null, `expires_at` datetime not null, constraint `ci_jobs_issuer_id_foreign` foreign key (`issuer_id`) references `token_issuers` (`id`) on delete cascade);')
    this.addSql('create unique index `ci_jobs_hash_unique` on `ci_jobs` (`hash`);')
    this.addSql('create index `ci_jobs_issuer_id_index` on `ci_jobs` (`issuer_id`);')
    this.addSql('create index `ci_jobs_expires_at_index` on `ci_jobs` (`expires_at`);')
    this.addSql('create table `ci_job_rules` (`job_id` text not null, `rule_id` text not null, `is_read_only` integer not null, primary key (`job_id`, `rule_id`), constraint `ci_job_rules_job_id_foreign` foreign key (`job_id`) references `ci_jobs` (`id`) on update cascade on delete cascade, constraint `ci_job_rules_rule_id_foreign` foreign key (`rule_id`) references `trusted_publishers` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `ci_job_rules_job_id_index` on `ci_job_rules` (`job_id`);')
    this.addSql('create index `ci_job_rules_rule_id_index` on `ci_job_rules` (`rule_id`);')
    this.addSql('create table `version_provenances` (`version_id` text not null primary key, `details` text not null, constraint `version_provenances_version_id_foreign` foreign key (`version_id`) references `package_versions` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `version_provenances_version_id_index` on `version_provenances` (`version_id`);')
    this.addSql('alter table `packages` add column `allows_manual_publishing` integer not null default true;')
    this.addSql('alter table `publishers` add column `allows_manual_publishing` integer not null default true;')
  }
}
