import { raw } from '@mikro-orm/core'
import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000004_ownership extends Migration {
  override async up() {
    this.addSql('create table "deleted_versions" ("package_name" varchar(64) collate "C" not null, "version" varchar(64) not null, "deleted_at" timestamptz(3) not null, primary key ("package_name", "version"));')
    this.addSql('create table "jobs" ("id" uuid not null, "created_at" timestamptz(3) not null, "kind" varchar(64) not null, "subject" varchar(255) not null, "payload" text not null default \'{}\', "state" text not null default \'queued\', "run_at" timestamptz(3) not null, "attempts" int not null default 0, "leased_until" timestamptz(3) null, "lease" uuid null, "phase" varchar(64) null, "done" bigint not null default \'0\', "total" bigint null, "started_at" timestamptz(3) null, "finished_at" timestamptz(3) null, "error" varchar(1000) null, primary key ("id"));')
    this.addSql('create index "jobs_state_run_at_index" on "jobs" ("state", "run_at");')
    this.addSql('create index "jobs_kind_subject_index" on "jobs" ("kind", "subject");')
    this.addSql('create table "publishers" ("id" varchar(64) collate "C" not null, "created_at" timestamptz(3) not null, "display_name" varchar(100) not null, "description" text not null default \'\', "website_url" text null, "contact_email" varchar(254) null, "is_verified" boolean not null default false, primary key ("id"));')
    this.addSql('create table "server_settings" ("key" varchar(64) not null, "value" text not null, primary key ("key"));')
    this.addSql('create table "publisher_members" ("publisher_id" varchar(64) not null, "user_id" uuid not null, "role" text not null, "created_at" timestamptz(3) not null, primary key ("publisher_id", "user_id"));')
    this.addSql('create index "publisher_members_user_id_index" on "publisher_members" ("user_id");')
    this.addSql('create table "package_dependencies" ("version_id" uuid not null, "kind" text not null, "name" varchar(64) collate "C" not null, "constraint" text not null, "hosted_url" text null, "sdk" varchar(64) null, primary key ("version_id", "kind", "name"));')
    this.addSql('create index "package_dependencies_name_version_id_index" on "package_dependencies" ("name", "version_id");')
    this.addSql('alter table "packages" add "publisher_id" varchar(64) null, add "visibility" text not null default \'private\', add "is_discontinued" boolean not null default false, add "replaced_by" varchar(64) null, add "is_unlisted" boolean not null default false;')
    this.addSql('alter table "packages" add constraint "packages_publisher_id_foreign" foreign key ("publisher_id") references "publishers" ("id") on delete restrict;')
    this.addSql('create index "packages_publisher_id_index" on "packages" ("publisher_id");')
    this.addSql('create index "packages_visibility_index" on "packages" ("visibility");')
    this.addSql('alter table "packages" add constraint "packages_visibility_check" check ("visibility" in (\'private\', \'public\'));')
    this.addSql('alter table "jobs" add constraint "jobs_state_check" check ("state" in (\'queued\', \'running\', \'done\', \'failed\'));')
    this.addSql('alter table "publisher_members" add constraint "publisher_members_publisher_id_foreign" foreign key ("publisher_id") references "publishers" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "publisher_members" add constraint "publisher_members_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "publisher_members" add constraint "publisher_members_role_check" check ("role" in (\'admin\', \'member\'));')
    this.addSql('alter table "package_dependencies" add constraint "package_dependencies_version_id_foreign" foreign key ("version_id") references "package_versions" ("id") on delete cascade;')
    this.addSql('alter table "package_dependencies" add constraint "package_dependencies_kind_check" check ("kind" in (\'direct\', \'dev\'));')
    // Fills the columns of existing versions. Registry URLs are stored in normalized form, which SQL cannot compute.
    this.addSql(`insert into "package_dependencies" ("version_id", "kind", "name", "constraint", "hosted_url", "sdk") ${dependencies}`)
    const stated = (await this.execute(`select distinct hosted_url as url from (${dependencies}) d where hosted_url is not null`)) as { url: string }[]
    for (const { url } of stated) this.addSql(raw('update package_dependencies set hosted_url = ? where hosted_url = ?', [normalHostedUrl(url), url]))
  }
}

/** The relevant part of a pubspec. A dependency is a version constraint or a mapping. */
const dependencies = `select v."id" as "version_id", k."kind", d."key" as "name",
  coalesce(btrim(case jsonb_typeof(d."value") when 'string' then d."value" #>> '{}' else d."value" ->> 'version' end, E' \\t\\n\\r'), 'any') as "constraint",
  case jsonb_typeof(d."value" -> 'hosted') when 'string' then d."value" ->> 'hosted' when 'object' then d."value" -> 'hosted' ->> 'url' end as "hosted_url",
  d."value" ->> 'sdk' as "sdk"
  from "package_versions" v
  cross join (values ('direct', 'dependencies'), ('dev', 'dev_dependencies')) k ("kind", "section")
  cross join lateral jsonb_each(case jsonb_typeof(v."pubspec"::jsonb -> k."section") when 'object' then v."pubspec"::jsonb -> k."section" else '{}'::jsonb end) d
  where not (jsonb_typeof(d."value") = 'object' and d."value" ?| array['git', 'path'])`

/** Normalizes a registry URL as of this migration. The server's own normalization may have changed since. */
function normalHostedUrl(text: string): string | null {
  const url = /^https?:\/\/[^\s\\/]/i.test(text) && !/[\s\\]/.test(text) ? URL.parse(text) : null
  if (!url || url.username || url.password || /[?#]/.test(text)) return null
  const normal = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return normal === 'https://pub.dartlang.org' ? 'https://pub.dev' : normal
}
