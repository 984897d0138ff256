import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000007_publishers extends Migration {
  override up() {
    this.addSql('create table "publisher_claims" ("domain" varchar(64) not null, "user_id" uuid not null, "token" varchar(64) not null, "display_name" varchar(100) not null, "expires_at" timestamptz(3) not null, primary key ("domain", "user_id"));')
    this.addSql('create index "publisher_claims_user_id_index" on "publisher_claims" ("user_id");')
    this.addSql('create index "publisher_claims_expires_at_index" on "publisher_claims" ("expires_at");')
    this.addSql('alter table "audit_entries" add "publisher" varchar(64) null;')
    this.addSql('create index "audit_entries_publisher_id_index" on "audit_entries" ("publisher", "id");')
    this.addSql('alter table "publisher_claims" add constraint "publisher_claims_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
  }
}
