import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000011_downloads extends Migration {
  override up() {
    this.addSql('create table `package_downloads` (`package_id` text not null, `day` integer not null, `downloads` bigint not null, primary key (`package_id`, `day`), constraint `package_downloads_package_id_foreign` foreign key (`package_id`) references `packages` (`id`) on delete cascade);')
    this.addSql('create index `package_downloads_package_id_index` on `package_downloads` (`package_id`);')
    this.addSql('create index `package_downloads_day_index` on `package_downloads` (`day`);')
    this.addSql('create table `package_likes` (`user_id` text not null, `package_id` text not null, `created_at` datetime not null, primary key (`user_id`, `package_id`), constraint `package_likes_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on update cascade on delete cascade, constraint `package_likes_package_id_foreign` foreign key (`package_id`) references `packages` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `package_likes_user_id_index` on `package_likes` (`user_id`);')
    this.addSql('create index `package_likes_package_id_index` on `package_likes` (`package_id`);')
    this.addSql('create table `version_downloads` (`version_id` text not null, `day` integer not null, `downloads` bigint not null, primary key (`version_id`, `day`), constraint `version_downloads_version_id_foreign` foreign key (`version_id`) references `package_versions` (`id`) on delete cascade);')
    this.addSql('create index `version_downloads_version_id_index` on `version_downloads` (`version_id`);')
  }
}
