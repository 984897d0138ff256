import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000002_access extends Migration {
  override up() {
    this.addSql('alter table "users" add column "avatar_tag" varchar(16) null;')
    this.addSql('create table "invites" ("id" uuid not null, "created_at" timestamptz(3) not null, "user_id" uuid not null, "hash" varchar(64) not null, "expires_at" timestamptz(3) not null, primary key ("id"));')
    this.addSql('alter table "invites" add constraint "invites_user_id_unique" unique ("user_id");')
    this.addSql('alter table "invites" add constraint "invites_hash_unique" unique ("hash");')
    this.addSql('create table "avatars" ("user_id" uuid not null, "png" bytea not null, "sha256" varchar(64) not null, primary key ("user_id"));')
    this.addSql('create table "oauth_requests" ("id" uuid not null, "created_at" timestamptz(3) not null, "user_id" uuid not null, "session_id" uuid null, "client_id" varchar(32) not null, "redirect_uri" text not null, "scopes" varchar(20) not null, "state" text not null, "code_challenge" varchar(43) not null, "expires_at" timestamptz(3) not null, "code_hash" varchar(64) null, "code_expires_at" timestamptz(3) null, "exchanged_at" timestamptz(3) null, "token_id" uuid null, primary key ("id"));')
    this.addSql('create index "oauth_requests_user_id_index" on "oauth_requests" ("user_id");')
    this.addSql('create index "oauth_requests_session_id_index" on "oauth_requests" ("session_id");')
    this.addSql('create index "oauth_requests_expires_at_index" on "oauth_requests" ("expires_at");')
    this.addSql('alter table "oauth_requests" add constraint "oauth_requests_code_hash_unique" unique ("code_hash");')
    this.addSql('alter table "invites" add constraint "invites_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
    this.addSql('alter table "avatars" add constraint "avatars_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "oauth_requests" add constraint "oauth_requests_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
    this.addSql('alter table "oauth_requests" add constraint "oauth_requests_session_id_foreign" foreign key ("session_id") references "sessions" ("id") on delete set null;')
    this.addSql('alter table "oauth_requests" add constraint "oauth_requests_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id") on delete set null;')
    this.addSql('create index "audit_entries_created_at_index" on "audit_entries" ("created_at");')
  }
}
