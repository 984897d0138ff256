import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000045_write_probe extends Migration {
  override up() {
    this.addSql('create table "write_probe" ("id" integer primary key, "count" integer not null);')
  }
}
