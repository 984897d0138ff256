import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000060_sign_in_origins extends Migration {
  override up() {
    this.addSql("create table `sign_in_origins` (`id` text not null primary key, `created_at` datetime not null, `user_id` text not null, `kind` text check (`kind` in ('device', 'range')) not null, `hash` text not null, `last_used_at` datetime not null, constraint `sign_in_origins_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade);")
    this.addSql('create index `sign_in_origins_user_id_index` on `sign_in_origins` (`user_id`);')
    this.addSql('create unique index `sign_in_origins_user_id_hash_unique` on `sign_in_origins` (`user_id`, `hash`);')
    this.addSql('create index `sign_in_origins_last_used_at_index` on `sign_in_origins` (`last_used_at`);')
  }
}
