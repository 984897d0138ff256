import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000056_addresses extends Migration {
  override up() {
    this.addSql('create table `server_addresses` (`address` text not null primary key, `first_used_at` datetime not null, `last_used_at` datetime not null);')
  }
}
