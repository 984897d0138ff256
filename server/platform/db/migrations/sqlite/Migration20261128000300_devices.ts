import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000300_devices extends Migration {
  override up() {
    this.addSql("create table `oauth_devices` (`id` text not null primary key, `created_at` datetime not null, `device_hash` text not null, `user_code` text not null, `scopes` text not null, `client_ip` text not null, `expires_at` datetime not null, `poll_seconds` integer not null, `polled_at` datetime null, `user_id` text null, `session_id` text null, `answer` text check (`answer` in ('approved', 'denied')) null, `exchanged_at` datetime null, `token_id` text null, constraint `oauth_devices_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade, constraint `oauth_devices_session_id_foreign` foreign key (`session_id`) references `sessions` (`id`) on delete set null, constraint `oauth_devices_token_id_foreign` foreign key (`token_id`) references `access_tokens` (`id`) on delete set null);")
    this.addSql('create unique index `oauth_devices_device_hash_unique` on `oauth_devices` (`device_hash`);')
    this.addSql('create unique index `oauth_devices_user_code_unique` on `oauth_devices` (`user_code`);')
    this.addSql('create index `oauth_devices_expires_at_index` on `oauth_devices` (`expires_at`);')
    this.addSql('create index `oauth_devices_user_id_index` on `oauth_devices` (`user_id`);')
    this.addSql('create index `oauth_devices_session_id_index` on `oauth_devices` (`session_id`);')
    this.addSql('create index `oauth_devices_token_id_index` on `oauth_devices` (`token_id`);')
  }
}
