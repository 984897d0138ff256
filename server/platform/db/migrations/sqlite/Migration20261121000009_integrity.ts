import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000009_integrity extends Migration {
  override up() {
    this.addSql('create index `package_versions_package_id_archive_bytes_index` on `package_versions` (`package_id`, `archive_bytes`);')
    this.addSql('create table `integrity_reports` (`id` text not null primary key, `created_at` datetime not null, `finished_at` datetime not null, `archives` integer not null, `bytes` bigint not null, `missing` integer not null, `damaged` integer not null, `orphans` integer not null, `orphan_bytes` bigint not null, `findings` text not null);')
  }
}
