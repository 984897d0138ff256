import { Migration } from '@mikro-orm/migrations'

export class Migration20261126001001_mirror extends Migration {
  override up() {
    this.addSql('create table `mirror_entries` (`key` text not null primary key, `kind` text not null, `name` text not null, `version` text not null default \'\', `sha256` text null, `bytes` integer not null default 0, `crc32c` text null, `etag` text null, `checked_at` datetime null, `used_at` datetime not null, `failed_at` datetime null, `failure` text null, `leased_until` datetime null);')
    this.addSql('create index `mirror_entries_kind_name_index` on `mirror_entries` (`kind`, `name`);')
    this.addSql('create index `mirror_entries_sha256_index` on `mirror_entries` (`sha256`);')
    this.addSql('create index `mirror_entries_used_at_index` on `mirror_entries` (`used_at`);')
    this.addSql('create table `mirror_decisions` (`id` text not null primary key, `created_at` datetime not null, `key` text not null, `outcome` text not null, `rule` text not null, `package_name` text not null, `version` text not null default \'\', `reason` text not null, `user_id` text null, `count` integer not null default 1, `last_at` datetime not null, constraint `mirror_decisions_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade);')
    this.addSql('create unique index `mirror_decisions_key_unique` on `mirror_decisions` (`key`);')
    this.addSql('create index `mirror_decisions_last_at_id_index` on `mirror_decisions` (`last_at`, `id`);')
    this.addSql('create index `mirror_decisions_rule_last_at_index` on `mirror_decisions` (`rule`, `last_at`);')
    this.addSql('create index `mirror_decisions_package_name_index` on `mirror_decisions` (`package_name`);')
    this.addSql('create index `mirror_decisions_user_id_index` on `mirror_decisions` (`user_id`);')
  }
}
