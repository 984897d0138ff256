import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000014_advisories extends Migration {
  override up() {
    this.addSql('create table `advisories` (`id` text not null primary key, `created_at` datetime not null, `osv_id` text not null, `modified_at` datetime not null, `withdrawn_at` datetime null, `summary` text not null, `document` text not null);')
    this.addSql('create unique index `advisories_osv_id_unique` on `advisories` (`osv_id`);')
    this.addSql('create table `advisory_packages` (`advisory_id` text not null, `package_name` text not null, primary key (`advisory_id`, `package_name`), constraint `advisory_packages_advisory_id_foreign` foreign key (`advisory_id`) references `advisories` (`id`) on delete cascade);')
    this.addSql('create index `advisory_packages_advisory_id_index` on `advisory_packages` (`advisory_id`);')
    this.addSql('create index `advisory_packages_package_name_index` on `advisory_packages` (`package_name`);')
    this.addSql('alter table `packages` add column `advisories_updated` datetime null;')
  }
}
