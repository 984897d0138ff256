import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000901_watches extends Migration {
  override up() {
    this.addSql('create table `package_watches` (`user_id` text not null, `package_id` text not null, `created_at` datetime not null, primary key (`user_id`, `package_id`), constraint `package_watches_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on update cascade on delete cascade, constraint `package_watches_package_id_foreign` foreign key (`package_id`) references `packages` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `package_watches_user_id_index` on `package_watches` (`user_id`);')
    this.addSql('create index `package_watches_package_id_index` on `package_watches` (`package_id`);')
  }
}
