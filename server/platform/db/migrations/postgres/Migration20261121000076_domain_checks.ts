import { Migration } from '@mikro-orm/migrations'

// Publishers that are already verified are checked in a week.
export class Migration20261121000076_domain_checks extends Migration {
  override up() {
    this.addSql('create table "domain_checks" ("publisher_id" varchar(64) not null, "token" varchar(64) null, "checked_at" timestamptz(3) null, "due_at" timestamptz(3) not null, "misses" int not null default 0, "lost_at" timestamptz(3) null, "problem" varchar(500) null, primary key ("publisher_id"));')
    this.addSql('create index "domain_checks_due_at_index" on "domain_checks" ("due_at");')
    this.addSql('alter table "domain_checks" add constraint "domain_checks_publisher_id_foreign" foreign key ("publisher_id") references "publishers" ("id") on update cascade on delete cascade;')
    this.addSql(`insert into "domain_checks" ("publisher_id", "due_at") select "id", now() + interval '7 days' from "publishers" where "is_verified";`)
  }
}
