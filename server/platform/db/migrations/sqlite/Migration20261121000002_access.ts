import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000002_access extends Migration {
  override up() {
    this.addSql('alter table `users` add column `avatar_tag` text null;')
    this.addSql('create table `invites` (`id` text not null primary key, `created_at` datetime not null, `user_id` text not null, `hash` text not null, `expires_at` datetime not null, constraint `invites_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade);')
    this.addSql('create unique index `invites_user_id_unique` on `invites` (`user_id`);')
    this.addSql('create unique index `invites_hash_unique` on `invites` (`hash`);')
    this.addSql('create table `avatars` (`user_id` text not null primary key, `png` blob not null, `sha256` text not null, constraint `avatars_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on update cascade on delete cascade);')
    this.addSql('create table `oauth_requests` (`id` text not null primary key, `created_at` datetime not null, `user_id` text not null, `session_id` text null, `client_id` text not null, `redirect_uri` text not null, `scopes` text not null, `state` text not null, `code_challenge` text not null, `expires_at` datetime not null, `code_hash` text null, `code_expires_at` datetime null, `exchanged_at` datetime null, `token_id` text null, constraint `oauth_requests_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade, constraint `oauth_requests_session_id_foreign` foreign key (`session_id`) references `sessions` (`id`) on delete set null, constraint `oauth_requests_token_id_foreign` foreign key (`token_id`) references `access_tokens` (`id`) on delete set null);')
    this.addSql('create index `oauth_requests_user_id_index` on `oauth_requests` (`user_id`);')
    this.addSql('create index `oauth_requests_session_id_index` on `oauth_requests` (`session_id`);')
    this.addSql('create index `oauth_requests_expires_at_index` on `oauth_requests` (`expires_at`);')
    this.addSql('create unique index `oauth_requests_code_hash_unique` on `oauth_requests` (`code_hash`);')
    this.addSql('create index `oauth_requests_token_id_index` on `oauth_requests` (`token_id`);')
    this.addSql('create index `audit_entries_created_at_index` on `audit_entries` (`created_at`);')
  }
}
