import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000056_addresses extends Migration {
  override up() {
    this.addSql('create table "server_addresses" ("address" varchar(2048) not null, "first_used_at" timestamptz(3) not null, "last_used_at" timestamptz(3) not null, primary key ("address"));')
  }
}
