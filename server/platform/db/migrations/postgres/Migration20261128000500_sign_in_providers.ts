import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000500_sign_in_providers extends Migration {
  override up() {
    this.addSql('create table "oidc_providers" ("name" varchar(32) not null, "created_at" timestamptz(3) not null, "label" varchar(100) not null, "issuer" varchar(255) not null, "client_id" varchar(255) not null, "client_secret" text null, "scopes" varchar(500) not null, "groups_claim" varchar(200) null, primary key ("name"));')
    this.addSql('create table "oidc_provider_states" ("name" varchar(32) not null, "last_success_at" timestamptz(3) null, "last_error_at" timestamptz(3) null, "last_error" varchar(500) null, primary key ("name"));')
    this.addSql('create table "linked_identities" ("id" uuid not null, "created_at" timestamptz(3) not null, "user_id" uuid not null, "issuer" varchar(255) not null, "subject" varchar(255) not null, "email" varchar(254) null, "last_used_at" timestamptz(3) not null, primary key ("id"));')
    this.addSql('alter table "linked_identities" add constraint "linked_identities_issuer_subject_unique" unique ("issuer", "subject");')
    this.addSql('create index "linked_identities_user_id_index" on "linked_identities" ("user_id");')
    this.addSql('alter table "linked_identities" add constraint "linked_identities_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
    this.addSql(`create table "oidc_rounds" ("id" uuid not null, "created_at" timestamptz(3) not null, "state_hash" varchar(64) not null, "browser_hash" varchar(64) not null, "provider" varchar(32) not null, "purpose" text check ("purpose" in ('signIn', 'link', 'invite', 'proof', 'test', 'result')) not null, "session_id" uuid null, "sealed" text not null, "expires_at" timestamptz(3) not null, primary key ("id"));`)
    this.addSql('alter table "oidc_rounds" add constraint "oidc_rounds_state_hash_unique" unique ("state_hash");')
    this.addSql('create index "oidc_rounds_session_id_index" on "oidc_rounds" ("session_id");')
    this.addSql('create index "oidc_rounds_expires_at_index" on "oidc_rounds" ("expires_at");')
    this.addSql('alter table "oidc_rounds" add constraint "oidc_rounds_session_id_foreign" foreign key ("session_id") references "sessions" ("id") on delete cascade;')
    this.addSql('create table "provider_sessions" ("session_id" uuid not null, "issuer" varchar(255) not null, "subject" varchar(255) not null, "sid" varchar(255) null, "end_session_url" text null, primary key ("session_id"));')
    this.addSql('create index "provider_sessions_issuer_subject_index" on "provider_sessions" ("issuer", "subject");')
    this.addSql('create index "provider_sessions_sid_index" on "provider_sessions" ("sid");')
    this.addSql('alter table "provider_sessions" add constraint "provider_sessions_session_id_foreign" foreign key ("session_id") references "sessions" ("id") on update cascade on delete cascade;')
    this.addSql('create table "used_logout_tokens" ("hash" varchar(64) not null, "expires_at" timestamptz(3) not null, primary key ("hash"));')
    this.addSql('create index "used_logout_tokens_expires_at_index" on "used_logout_tokens" ("expires_at");')
    this.addSql('alter table "users" add column "provider_sign_in_at" timestamptz(3) null;')
    this.addSql('alter table "users" add column "has_mapped_role" boolean not null default false;')
    this.addSql(`alter table "publisher_members" add column "mapped_role" text check ("mapped_role" in ('admin', 'member')) null;`)
    this.addSql(`alter table "publisher_members" add column "manual_role" text check ("manual_role" in ('admin', 'member')) null;`)
  }
}
