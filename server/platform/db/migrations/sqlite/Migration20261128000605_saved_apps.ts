import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000605_saved_apps extends Migration {
  override up() {
    this.addSql('create table `saved_apps` (`id` text not null primary key, `created_at` datetime not null, `user_id` text null, `publisher_id` text null, `name` text not null, `lock` text not null, `saved_at` datetime not null, `saved_by_id` text null, constraint `saved_apps_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade, constraint `saved_apps_publisher_id_foreign` foreign key (`publisher_id`) references `publishers` (`id`) on delete cascade, constraint `saved_apps_saved_by_id_foreign` foreign key (`saved_by_id`) references `users` (`id`) on delete set null);')
    this.addSql('create index `saved_apps_user_id_index` on `saved_apps` (`user_id`);')
    this.addSql('create index `saved_apps_publisher_id_index` on `saved_apps` (`publisher_id`);')
    this.addSql('create index `saved_apps_saved_by_id_index` on `saved_apps` (`saved_by_id`);')
    this.addSql('create unique index `saved_apps_user_id_name_unique` on `saved_apps` (`user_id`, `name`);')
    this.addSql('create unique index `saved_apps_publisher_id_name_unique` on `saved_apps` (`publisher_id`, `name`);')
  }
}
