import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000075_names extends Migration {
  override up() {
    this.addSql("alter table `packages` add column `skeleton` text not null default '';")
    this.addSql("update `packages` set `skeleton` = replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(`name`, '_', ''), '0', ''), '1', ''), '2', ''), '3', ''), '4', ''), '5', ''), '6', ''), '7', ''), '8', ''), '9', '');")
    this.addSql('create index `packages_skeleton_index` on `packages` (`skeleton`);')
    this.addSql('create table `reserved_names` (`name` text not null, `reserved_at` datetime not null, `reserved_by_id` text null, primary key (`name`), constraint `reserved_names_reserved_by_id_foreign` foreign key (`reserved_by_id`) references `users` (`id`) on delete set null);')
    this.addSql('create index `reserved_names_reserved_by_id_index` on `reserved_names` (`reserved_by_id`);')
    this.addSql('insert into `reserved_names` (`name`, `reserved_at`) select `package_name`, max(`deleted_at`) from `deleted_versions` where `package_name` not in (select `name` from `packages`) group by `package_name`;')
    this.addSql('create table `confusable_names` (`name` text not null, `similar_names` text not null, `noticed_at` datetime not null, `requested_by_id` text null, `approved_at` datetime null, `approved_by_id` text null, primary key (`name`), constraint `confusable_names_requested_by_id_foreign` foreign key (`requested_by_id`) references `users` (`id`) on delete set null, constraint `confusable_names_approved_by_id_foreign` foreign key (`approved_by_id`) references `users` (`id`) on delete set null);')
    this.addSql('create index `confusable_names_requested_by_id_index` on `confusable_names` (`requested_by_id`);')
    this.addSql('create index `confusable_names_approved_by_id_index` on `confusable_names` (`approved_by_id`);')
    this.addSql('create index `confusable_names_approved_at_name_index` on `confusable_names` (`approved_at`, `name`);')
  }
}
