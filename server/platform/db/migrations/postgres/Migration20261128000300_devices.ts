import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000300_devices extends Migration {
  override up() {
    this.addSql(`create table "oauth_devices" ("id" uuid not null, "created_at" timestamptz(3) not null, "device_hash" varchar(64) not null, "user_code" varchar(8) not null, "scopes" varchar(20) not null, "client_ip" varchar(45) not null, "expires_at" timestamptz(3) not null, "poll_seconds" int not null, "polled_at" timestamptz(3) null, "user_id" uuid null, "session_id" uuid null, "answer" text check ("answer" in ('approved', 'denied')) null, "exchanged_at" timestamptz(3) null, "token_id" uuid null, primary key ("id"));`)
    this.addSql('alter table "oauth_devices" add constraint "oauth_devices_device_hash_unique" unique ("device_hash");')
    this.addSql('alter table "oauth_devices" add constraint "oauth_devices_user_code_unique" unique ("user_code");')
    this.addSql('create index "oauth_devices_expires_at_index" on "oauth_devices" ("expires_at");')
    this.addSql('create index "oauth_devices_user_id_index" on "oauth_devices" ("user_id");')
    this.addSql('create index "oauth_devices_session_id_index" on "oauth_devices" ("session_id");')
    this.addSql('create index "oauth_devices_token_id_index" on "oauth_devices" ("token_id");')
    this.addSql('alter table "oauth_devices" add constraint "oauth_devices_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
    this.addSql('alter table "oauth_devices" add constraint "oauth_devices_session_id_foreign" foreign key ("session_id") references "sessions" ("id") on delete set null;')
    this.addSql('alter table "oauth_devices" add constraint "oauth_devices_token_id_foreign" foreign key ("token_id") references "access_tokens" ("id") on delete set null;')
  }
}
