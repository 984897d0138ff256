import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000702_deleted_packages extends Migration {
  override up() {
    this.addSql('create table `deleted_packages` (`id` text not null primary key, `created_at` datetime not null, `name` text not null, `package_id` text not null, `is_whole` integer not null, `deleted_by_id` text null, `versions` integer not null, `data` text not null, constraint `deleted_packages_deleted_by_id_foreign` foreign key (`deleted_by_id`) references `users` (`id`) on delete set null);')
    this.addSql('create index `deleted_packages_name_index` on `deleted_packages` (`name`);')
    this.addSql('create index `deleted_packages_deleted_by_id_index` on `deleted_packages` (`deleted_by_id`);')
    this.addSql('create table `deleted_package_versions` (`deleted_id` text not null, `version` text not null, `version_id` text not null, `archive_sha256` text not null, `archive_bytes` bigint not null, `data` text not null, primary key (`deleted_id`, `version`), constraint `deleted_package_versions_deleted_id_foreign` foreign key (`deleted_id`) references `deleted_packages` (`id`) on delete cascade);')
    this.addSql('create index `deleted_package_versions_deleted_id_index` on `deleted_package_versions` (`deleted_id`);')
  }
}
