import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000600_second_factors extends Migration {
  override up() {
    this.addSql('create table `passkeys` (`id` text not null primary key, `created_at` datetime not null, `user_id` text not null, `name` text not null, `credential_id` text not null, `public_key` text not null, `counter` bigint not null, `transports` text not null, `is_backed_up` integer not null, `rp_id` text not null, `last_used_at` datetime null, `disabled_at` datetime null, constraint `passkeys_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade);')
    this.addSql('create index `passkeys_user_id_index` on `passkeys` (`user_id`);')
    this.addSql('create unique index `passkeys_credential_id_unique` on `passkeys` (`credential_id`);')
    this.addSql("create table `passkey_challenges` (`challenge` text not null primary key, `purpose` text check (`purpose` in ('register', 'sign_in', 'prove')) not null, `holder` text not null, `expires_at` datetime not null);")
    this.addSql('create index `passkey_challenges_expires_at_index` on `passkey_challenges` (`expires_at`);')
    this.addSql('create table `totp_secrets` (`user_id` text not null primary key, `sealed` text not null, `last_step` integer not null default 0, `created_at` datetime not null, `confirmed_at` datetime null, constraint `totp_secrets_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on update cascade on delete cascade);')
    this.addSql('create table `recovery_codes` (`id` text not null primary key, `created_at` datetime not null, `user_id` text not null, `hash` text not null, constraint `recovery_codes_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade);')
    this.addSql('create index `recovery_codes_user_id_index` on `recovery_codes` (`user_id`);')
    this.addSql('create unique index `recovery_codes_user_id_hash_unique` on `recovery_codes` (`user_id`, `hash`);')
  }
}
