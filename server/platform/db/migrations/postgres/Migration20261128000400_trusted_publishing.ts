import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000400_trusted_publishing extends Migration {
  override up() {
    this.addSql(`create table "token_issuers" ("id" uuid not null, "created_at" timestamptz(3) not null, "name" varchar(100) not null, "url" varchar(500) not null, "preset" text check ("preset" in ('github', 'gitlab', 'forgejo', 'buildkite', 'circleci', 'bitbucket', 'google', 'custom')) not null, "key_set" text not null, "keys_fetched_at" timestamptz(3) not null, "keys_tried_at" timestamptz(3) not null, "key_problem" varchar(500) null, primary key ("id"));`)
    this.addSql('alter table "token_issuers" add constraint "token_issuers_url_unique" unique ("url");')
    this.addSql('create table "trusted_publishers" ("id" uuid not null, "created_at" timestamptz(3) not null, "issuer_id" uuid not null, "package_id" uuid null, "publisher_id" varchar(64) null, "created_by_id" uuid null, "label" varchar(100) not null, "repository" varchar(255) null, "workflow" varchar(255) null, "environment" varchar(255) null, "events" varchar(500) not null, "claims" text not null, "tag_pattern" varchar(100) null, "is_read_only" boolean not null, "locked_repository_id" varchar(255) null, "locked_owner_id" varchar(255) null, "last_used_at" timestamptz(3) null, "last_use" varchar(500) null, "last_rejected_at" timestamptz(3) null, "last_rejection" varchar(500) null, primary key ("id"));')
    this.addSql('create table "ci_jobs" ("id" uuid not null, "created_at" timestamptz(3) not null, "hash" varchar(64) not null, "issuer_id" uuid not null, "display_name" varchar(400) not null, "claims" text not null, "expires_at" timestamptz(3) not null, primary key ("id"));')
    this.addSql('alter table "ci_jobs" add constraint "ci_jobs_hash_unique" unique ("hash");')
    this.addSql('create table "ci_job_rules" ("job_id" uuid not null, "rule_id" uuid not null, "is_read_only" boolean not null, primary key ("job_id", "rule_id"));')
    this.addSql('create table "version_provenances" ("version_id" uuid not null, "details" text not null, primary key ("version_id"));')
    for (const [table, column, target, rule] of [
      ['trusted_publishers', 'issuer_id', 'token_issuers', 'cascade'],
      ['trusted_publishers', 'package_id', 'packages', 'cascade'],
      ['trusted_publishers', 'publisher_id', 'publishers', 'cascade'],
      ['trusted_publishers', 'created_by_id', 'users', 'set null'],
      ['ci_jobs', 'issuer_id', 'token_issuers', 'cascade'],
      ['ci_job_rules', 'job_id', 'ci_jobs', 'cascade on update cascade'],
      ['ci_job_rules', 'rule_id', 'trusted_publishers', 'cascade on update cascade'],
      ['version_provenances', 'version_id', 'package_versions', 'cascade on update cascade'],
    ]) {
      // The primary key begins with these columns.
      if (column !== 'job_id' && column !== 'version_id')
        this.addSql(`create index "${table}_${column}_index" on "${table}" ("${column}");`)
      this.addSql(`alter table "${table}" add constraint "${table}_${column}_foreign" foreign key ("${column}") references "${target}" ("id") on delete ${rule};`)
    }
    this.addSql('create index "ci_jobs_expires_at_index" on "ci_jobs" ("expires_at");')
    this.addSql('alter table "packages" add column "allows_manual_publishing" boolean not null default true;')
    this.addSql('alter table "publishers" add column "allows_manual_publishing" boolean not null default true;')
    this.addSql('alter table "uploads" add column "ci_job_id" uuid null constraint "uploads_ci_job_id_foreign" references "ci_jobs" ("id") on delete cascade;')
    this.addSql('create index "uploads_ci_job_id_index" on "uploads" ("ci_job_id");')
  }
}
