import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000600_second_factors extends Migration {
  override up() {
    this.addSql('create table "passkeys" ("id" uuid not null, "created_at" timestamptz(3) not null, "user_id" uuid not null, "name" varchar(100) not null, "credential_id" varchar(1400) not null, "public_key" text not null, "counter" bigint not null, "transports" varchar(200) not null, "is_backed_up" boolean not null, "rp_id" varchar(253) not null, "last_used_at" timestamptz(3) null, "disabled_at" timestamptz(3) null, primary key ("id"));')
    this.addSql('create index "passkeys_user_id_index" on "passkeys" ("user_id");')
    this.addSql('alter table "passkeys" add constraint "passkeys_credential_id_unique" unique ("credential_id");')
    this.addSql(`create table "passkey_challenges" ("challenge" varchar(43) not null, "purpose" text check ("purpose" in ('register', 'sign_in', 'prove')) not null, "holder" varchar(64) not null, "expires_at" timestamptz(3) not null, primary key ("challenge"));`)
    this.addSql('create index "passkey_challenges_expires_at_index" on "passkey_challenges" ("expires_at");')
    this.addSql('create table "totp_secrets" ("user_id" uuid not null, "sealed" text not null, "last_step" int not null default 0, "created_at" timestamptz(3) not null, "confirmed_at" timestamptz(3) null, primary key ("user_id"));')
    this.addSql('create table "recovery_codes" ("id" uuid not null, "created_at" timestamptz(3) not null, "user_id" uuid not null, "hash" varchar(64) not null, primary key ("id"));')
    this.addSql('alter table "recovery_codes" add constraint "recovery_codes_user_id_hash_unique" unique ("user_id", "hash");')
    this.addSql('alter table "passkeys" add constraint "passkeys_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
    this.addSql('alter table "totp_secrets" add constraint "totp_secrets_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "recovery_codes" add constraint "recovery_codes_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
  }
}
