import { raw } from '@mikro-orm/core'
import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000004_ownership extends Migration {
  override async up() {
    this.addSql('create table `deleted_versions` (`package_name` text not null, `version` text not null, `deleted_at` datetime not null, primary key (`package_name`, `version`));')
    this.addSql('create table `jobs` (`id` text not null primary key, `created_at` datetime not null, `kind` text not null, `subject` text not null, `payload` text not null default \'{}\', `state` text check (`state` in (\'queued\', \'running\', \'done\', \'failed\')) not null default \'queued\', `run_at` datetime not null, `attempts` integer not null default 0, `leased_until` datetime null, `lease` text null, `phase` text null, `done` bigint not null default \'0\', `total` bigint null, `started_at` datetime null, `finished_at` datetime null, `error` text null);')
    this.addSql('create index `jobs_state_run_at_index` on `jobs` (`state`, `run_at`);')
    this.addSql('create index `jobs_kind_subject_index` on `jobs` (`kind`, `subject`);')
    this.addSql('create table `publishers` (`id` text not null primary key, `created_at` datetime not null, `display_name` text not null, `description` text not null default \'\', `website_url` text null, `contact_email` text null, `is_verified` integer not null default false);')
    this.addSql('create table `server_settings` (`key` text not null primary key, `value` text not null);')
    this.addSql('create table `publisher_members` (`publisher_id` text not null, `user_id` text not null, `role` text check (`role` in (\'admin\', \'member\')) not null, `created_at` datetime not null, primary key (`publisher_id`, `user_id`), constraint `publisher_members_publisher_id_foreign` foreign key (`publisher_id`) references `publishers` (`id`) on update cascade on delete cascade, constraint `publisher_members_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `publisher_members_publisher_id_index` on `publisher_members` (`publisher_id`);')
    this.addSql('create index `publisher_members_user_id_index` on `publisher_members` (`user_id`);')
    this.addSql('create table `package_dependencies` (`version_id` text not null, `kind` text check (`kind` in (\'direct\', \'dev\')) not null, `name` text not null, `constraint` text not null, `hosted_url` text null, `sdk` text null, primary key (`version_id`, `kind`, `name`), constraint `package_dependencies_version_id_foreign` foreign key (`version_id`) references `package_versions` (`id`) on delete cascade);')
    this.addSql('create index `package_dependencies_version_id_index` on `package_dependencies` (`version_id`);')
    this.addSql('create index `package_dependencies_name_version_id_index` on `package_dependencies` (`name`, `version_id`);')
    this.addSql('alter table `packages` add column `publisher_id` text null constraint `packages_publisher_id_foreign` references `publishers` (`id`) on delete restrict;')
    this.addSql('alter table `packages` add column `visibility` text check (`visibility` in (\'private\', \'public\')) not null default \'private\';')
    this.addSql('alter table `packages` add column `is_discontinued` integer not null default false;')
    this.addSql('alter table `packages` add column `replaced_by` text null;')
    this.addSql('alter table `packages` add column `is_unlisted` integer not null default false;')
    this.addSql('create index `packages_publisher_id_index` on `packages` (`publisher_id`);')
    this.addSql('create index `packages_visibility_index` on `packages` (`visibility`);')
    // Fills the columns of existing versions. Registry URLs are stored in normalized form, which SQL cannot compute.
    this.addSql(`insert into package_dependencies (version_id, kind, name, "constraint", hosted_url, sdk) ${dependencies}`)
    const stated = (await this.execute(`select distinct hosted_url as url from (${dependencies}) d where hosted_url is not null`)) as { url: string }[]
    for (const { url } of stated) this.addSql(raw('update package_dependencies set hosted_url = ? where hosted_url = ?', [normalHostedUrl(url), url]))
  }
}

/** The relevant part of a pubspec. A dependency is a version constraint or a mapping. */
const dependencies = `select v.id as version_id, k.kind, d.key as name,
  coalesce(trim(case d.type when 'text' then d.value when 'object' then d.value ->> '$.version' end, char(9, 10, 13, 32)), 'any') as "constraint",
  case when d.type <> 'object' then null when json_type(d.value, '$.hosted') = 'text' then d.value ->> '$.hosted' else d.value ->> '$.hosted.url' end as hosted_url,
  case d.type when 'object' then d.value ->> '$.sdk' end as sdk
  from package_versions v
  cross join (select 'direct' as kind, '$.dependencies' as section union all select 'dev', '$.dev_dependencies') k
  join json_each(v.pubspec, k.section) d
  where json_type(v.pubspec, k.section) = 'object' and not (d.type = 'object' and (json_type(d.value, '$.git') is not null or json_type(d.value, '$.path') is not null))`

/** Normalizes a registry URL as of this migration. The server's own normalization may have changed since. */
function normalHostedUrl(text: string): string | null {
  const url = /^https?:\/\/[^\s\\/]/i.test(text) && !/[\s\\]/.test(text) ? URL.parse(text) : null
  if (!url || url.username || url.password || /[?#]/.test(text)) return null
  const normal = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return normal === 'https://pub.dartlang.org' ? 'https://pub.dev' : normal
}
