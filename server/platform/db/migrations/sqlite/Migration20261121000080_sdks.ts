import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000080_sdks extends Migration {
  override up() {
    this.addSql("create table `sdk_installs` (`id` text not null primary key, `created_at` datetime not null, `kind` text check (`kind` in ('dart', 'flutter')) not null, `version` text not null, `channel` text check (`channel` in ('stable', 'beta', 'dev')) not null, `platform` text not null, `status` text check (`status` in ('downloading', 'extracting', 'preparing', 'ready', 'failed')) not null default 'downloading', `is_default` integer not null default false, `generation` integer not null default 1, `imported_sha256` text null, `bytes_done` bigint not null default '0', `bytes_total` bigint null, `log` text not null default '', `error_message` text null, `requested_by_id` text null, `ready_at` datetime null, `size_bytes` bigint null, `dart_version` text null, `pana_version` text null);")
    this.addSql('create unique index `sdk_installs_kind_version_channel_unique` on `sdk_installs` (`kind`, `version`, `channel`);')
    this.addSql('create unique index `sdk_installs_default` on `sdk_installs` (`kind`) where is_default;')
  }
}
