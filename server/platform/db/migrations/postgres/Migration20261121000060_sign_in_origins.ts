import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000060_sign_in_origins extends Migration {
  override up() {
    this.addSql(`create table "sign_in_origins" ("id" uuid not null, "created_at" timestamptz(3) not null, "user_id" uuid not null, "kind" text not null, "hash" varchar(64) not null, "last_used_at" timestamptz(3) not null, primary key ("id"));`)
    this.addSql(`alter table "sign_in_origins" add constraint "sign_in_origins_kind_check" check ("kind" in ('device', 'range'));`)
    this.addSql('alter table "sign_in_origins" add constraint "sign_in_origins_user_id_hash_unique" unique ("user_id", "hash");')
    this.addSql('create index "sign_in_origins_last_used_at_index" on "sign_in_origins" ("last_used_at");')
    this.addSql('alter table "sign_in_origins" add constraint "sign_in_origins_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
  }
}
